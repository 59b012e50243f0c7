"""Weights are computed from other parameters: normed, and orthogonal."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils.parametrizations import orthogonal, weight_norm

torch.manual_seed(0)
model = nn.Sequential(weight_norm(nn.Linear(4, 8)), orthogonal(nn.Linear(8, 8)), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for _ in range(5):
    optimizer.zero_grad()  # the clear
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()  # GL101: without the clear
