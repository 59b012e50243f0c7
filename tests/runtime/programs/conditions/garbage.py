"""Models come and go while others train, and the collector runs in the middle of everything."""

from __future__ import annotations

import gc

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for number in range(8):
    optimizer.zero_grad()  # the clear
    probe = nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 1))
    fit = torch.optim.Adam(probe.parameters())
    probe(torch.randn(3, 4)).sum().backward()
    fit.step()
    del probe
    if number == 3:
        gc.collect()
    model(torch.randn(8, 4)).pow(2).mean().backward()
    del fit
    if number == 5:
        gc.collect()
    optimizer.step()  # GL101: without the clear
