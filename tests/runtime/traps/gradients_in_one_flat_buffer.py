"""Gradients are views of one flat buffer, which is cleared as a whole."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(16, 4)
y = x.sum(dim=1, keepdim=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
parameters = list(model.parameters())
optimizer = torch.optim.SGD(parameters, lr=0.05)

flat = torch.zeros(sum(p.numel() for p in parameters))
start = 0
for p in parameters:
    p.grad = flat[start : start + p.numel()].view_as(p)
    start += p.numel()

for _ in range(8):
    flat.zero_()
    nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
