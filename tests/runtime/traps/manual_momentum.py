"""Momentum by hand: the buffers remember, the gradients are new in each step."""
# mypy: ignore-errors

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
model = nn.Linear(4, 1)
velocity = [torch.zeros_like(p) for p in model.parameters()]

for _epoch in range(3):
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        with torch.no_grad():
            for p, v in zip(model.parameters(), velocity, strict=True):
                v.mul_(0.9).add_(p.grad)
                p.add_(v, alpha=-0.01)
                p.grad = None
