"""The code looks into each gradient, and leaves a batch out where one of them is not finite."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
x[10] = float("inf")
loader = DataLoader(TensorDataset(x, torch.ones(64, 1)), batch_size=8)
model = nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for _epoch in range(3):
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        valid = all(torch.isfinite(p.grad).all() for p in model.parameters())
        if valid:
            optimizer.step()
