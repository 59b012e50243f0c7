"""Activations are computed again in the backward pass."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
first, second = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2)), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.05)

for _ in range(5):
    optimizer.zero_grad()  # the clear
    hidden = checkpoint(first, torch.randn(8, 4), use_reentrant=False)
    checkpoint(second, hidden, use_reentrant=False).pow(2).mean().backward()
    optimizer.step()  # GL101: without the clear
