"""A graph is kept for torch.autograd.grad, which asks how much each loss would give."""
# mypy: ignore-errors

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(32, 4)
y = x.sum(dim=1, keepdim=True)
body, heads = nn.Linear(4, 4), nn.ModuleList([nn.Linear(4, 1) for _ in range(2)])
optimizer = torch.optim.Adam([*body.parameters(), *heads.parameters()], lr=0.001)
shares = []

for _ in range(6):
    features = body(x)
    losses = [nn.functional.mse_loss(head(features), (k + 1) * y) for k, head in enumerate(heads)]
    optimizer.zero_grad()
    sum(losses).backward(retain_graph=True)
    (gradient,) = torch.autograd.grad(losses[0], body.weight)
    shares.append((gradient.norm() / body.weight.grad.norm()).item())
    optimizer.step()
