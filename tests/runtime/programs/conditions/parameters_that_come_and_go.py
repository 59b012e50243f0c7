"""Layers are added and exchanged while the training goes on, and the optimizer follows."""

from __future__ import annotations

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for number in range(12):
    if number == 4:
        model.append(nn.Linear(4, 4))
        optimizer.add_param_group({"params": model[1].parameters()})
    if number == 8:
        model[0] = nn.Linear(4, 4)
        optimizer.param_groups[0]["params"] = list(model[0].parameters())
    optimizer.zero_grad()  # the clear
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()  # GL101: without the clear
