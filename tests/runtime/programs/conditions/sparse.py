"""Gradients of an embedding are sparse."""

from __future__ import annotations

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Embedding(20, 4, sparse=True)
optimizer = torch.optim.SparseAdam(model.parameters(), lr=0.01)

for _ in range(5):
    optimizer.zero_grad()  # the clear
    model(torch.randint(20, (8,))).pow(2).mean().backward()
    optimizer.step()  # type: ignore[no-untyped-call]  # GL101: without the clear
