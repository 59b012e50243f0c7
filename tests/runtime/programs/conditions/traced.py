"""Somebody else traces the program, as a debugger does."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn

lines: list[tuple[str, int]] = []


def trace(frame: FrameType, event: str, arg: Any) -> Any:
    if frame.f_code.co_filename != __file__:
        return None
    lines.append((event, frame.f_lineno))
    return trace


def train(x: Tensor) -> None:
    optimizer.zero_grad()  # the clear
    model(x).pow(2).mean().backward()
    try:
        float("nothing")
    except ValueError:
        lines.append(("caught", 0))
    optimizer.step()  # GL101: without the clear


torch.manual_seed(0)
sys.settrace(trace)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(5):
    train(torch.randn(8, 4))
assert sys.gettrace() is trace
sys.settrace(None)
print(lines)
