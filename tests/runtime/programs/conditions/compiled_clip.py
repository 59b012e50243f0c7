"""Clipping is compiled into one graph, which must not be broken."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


@torch.compile(backend="eager", fullgraph=True)
def clip() -> None:
    clip_grad_norm_(model.parameters(), 0.1)


for _ in range(5):
    optimizer.zero_grad()  # the clear
    model(torch.randn(8, 4)).pow(2).mean().backward()
    clip()
    optimizer.step()  # GL101: without the clear
