"""Forward, backward, step and clear are one compiled function."""

from __future__ import annotations

import torch
from torch import Tensor, nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


@torch.compile(backend="eager")
def train(x: Tensor) -> Tensor:
    optimizer.zero_grad()  # the clear
    loss: Tensor = model(x).pow(2).mean()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()  # GL101: without the clear
    return loss


for _ in range(5):
    train(torch.randn(8, 4))
