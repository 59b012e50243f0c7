"""A function has a backward of its own, which uses autograd itself."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, *above: Any) -> Any:
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            (slope,) = torch.autograd.grad((x**3).sum(), x)
        return above[0] * slope


torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

for _ in range(5):
    optimizer.zero_grad()  # the clear
    Cube.apply(model(torch.randn(8, 4))).pow(2).mean().backward()  # type: ignore[no-untyped-call]
    optimizer.step()  # GL101: without the clear
