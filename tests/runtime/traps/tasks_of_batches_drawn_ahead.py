"""Batches are drawn ahead, and each is learnt from in several tasks: their losses add up."""
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

for _epoch in range(3):
    batches = iter(loader)
    while window := list(itertools.islice(batches, 4)):
        for inputs, targets in window:
            for power in range(3):
                loss = loss_fn(model(inputs), targets**power)
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
