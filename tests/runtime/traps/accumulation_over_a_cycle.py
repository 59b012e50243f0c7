"""A loader without an end: behind its first round, `itertools.cycle` gives out what it kept."""
# mypy: ignore-errors

import itertools

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8)

model = nn.Linear(4, 1)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
batches = itertools.cycle(loader)

for _step in range(8):
    for _ in range(4):
        inputs, targets = next(batches)
        loss = loss_fn(model(inputs), targets) / 4
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
