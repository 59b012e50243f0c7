"""A network that solves u' = -u: the collocation points are leaves, and nobody's parameters."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
start = torch.zeros(1, 1)

for _iteration in range(20):
    t = torch.rand(32, 1, requires_grad=True)
    u = model(t)
    slope = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    residual = ((slope + u) ** 2).mean()
    initial = ((model(start) - 1) ** 2).mean()
    optimizer.zero_grad()
    (residual + initial).backward()
    optimizer.step()
