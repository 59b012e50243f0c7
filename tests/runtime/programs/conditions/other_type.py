"""The model changes its type in the middle."""

from __future__ import annotations

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for number in range(8):
    optimizer.zero_grad()  # the clear
    if number == 4:
        model.to(torch.float64)
    x = torch.randn(8, 4, dtype=model.weight.dtype)
    model(x).pow(2).mean().backward()
    optimizer.step()  # GL101: without the clear
