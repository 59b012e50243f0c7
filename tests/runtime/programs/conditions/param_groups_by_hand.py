"""The optimizer's groups are edited in place: rates, and a parameter taken out and put back."""

from __future__ import annotations

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
group = optimizer.param_groups[0]

for number in range(9):
    if number == 3:
        model.bias.requires_grad_(False)
        bias = group["params"].pop()
    if number == 6:
        bias.requires_grad_(True)
        group["params"].append(bias)
    group["lr"] *= 0.9
    optimizer.zero_grad()  # the clear
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()  # GL101: without the clear
