"""A recurrent net with its state detached between chunks, and SGD written out."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.GRU(4, 8)
state = torch.zeros(1, 2, 8)

for _ in range(12):
    output, state = rnn(torch.randn(3, 2, 4), state)
    loss = output.square().mean()
    rnn.zero_grad()
    loss.backward()
    state = state.detach()
    with torch.no_grad():
        for parameter in rnn.parameters():
            parameter.data = parameter.data - 0.1 * parameter.grad
