"""A child is forked in the middle of a window; it trains on for itself, badly."""

from __future__ import annotations

import os

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for number in range(5):
    optimizer.zero_grad()  # the clear
    model(torch.randn(8, 4)).pow(2).mean().backward()
    if number == 2:
        child = os.fork()
        if not child:
            optimizer.step()
            optimizer.step()
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        del child
    optimizer.step()  # GL101: without the clear
