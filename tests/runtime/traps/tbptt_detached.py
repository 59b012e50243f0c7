"""Truncated backpropagation: the state goes on from chunk to chunk, its graph does not."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
wave = torch.sin(torch.linspace(0, 30, 241)).view(1, -1, 1)
rnn, head = nn.GRU(1, 12, batch_first=True), nn.Linear(12, 1)
optimizer = torch.optim.Adam([*rnn.parameters(), *head.parameters()], lr=0.01)

for _epoch in range(2):
    state = None
    for start in range(0, 240, 20):
        inputs = wave[:, start : start + 20]
        targets = wave[:, start + 1 : start + 21]
        if state is not None:
            state = state.detach()
        output, state = rnn(inputs, state)
        loss = nn.functional.mse_loss(head(output), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(rnn.parameters(), 1.0)
        optimizer.step()
