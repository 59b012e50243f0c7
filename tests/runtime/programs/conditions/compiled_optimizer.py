"""Only the optimizer's step is compiled."""

from __future__ import annotations

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.05))


@torch.compile(backend="eager")
def update() -> None:
    optimizer.step()  # GL101: without the clear


for _ in range(5):
    optimizer.zero_grad()  # the clear
    model(torch.randn(8, 4)).pow(2).mean().backward()
    update()
