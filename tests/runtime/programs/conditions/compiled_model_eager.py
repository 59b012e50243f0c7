"""The model is compiled, without a compiler behind it."""

from __future__ import annotations

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
compiled = torch.compile(model, backend="eager")

for _ in range(5):
    optimizer.zero_grad()  # the clear
    compiled(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()  # GL101: without the clear
