"""Gradients whose bits are easily lost: NaN, infinity, minus zero, denormals, strides, doubles."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx

# Not a number, with something written into it; infinity; minus zero; the smallest number.
ODD = torch.tensor([0x7FC01234, 0x7F800000, -0x80000000, 1], dtype=torch.int32)


class Gives(torch.autograd.Function):
    """A gradient of exactly these bits."""

    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor, gradient: Tensor) -> Tensor:
        ctx.save_for_backward(gradient)
        return x.sum()

    @staticmethod
    def backward(ctx: Any, *above: Any) -> Any:
        return ctx.saved_tensors[0].clone(), None


kept = []
w = nn.Parameter(torch.zeros(4))
optimizer = torch.optim.SGD([w], lr=1.0)
for _ in range(2):
    optimizer.zero_grad()
    Gives.apply(w, ODD.view(torch.float32)).backward()  # type: ignore[no-untyped-call]
    assert w.grad is not None
    kept.append(w.grad.view(torch.int32).tolist())
print(kept)

image = nn.Conv2d(2, 3, 3)
image.weight.data = image.weight.data.to(memory_format=torch.channels_last)
double = nn.Linear(3, 2, dtype=torch.float64)
complex_ = nn.Parameter(torch.ones(2, dtype=torch.complex64))
wide = nn.Parameter(torch.zeros(2, 3).t())
both = torch.optim.SGD([*image.parameters(), *double.parameters(), complex_, wide], lr=0.1)
torch.manual_seed(5)
for _ in range(3):
    both.zero_grad()
    seen = image(torch.randn(1, 2, 6, 6).to(memory_format=torch.channels_last)).mean()
    loss = seen + double(torch.randn(4, 3, dtype=torch.float64)).pow(2).mean()
    loss = loss + (complex_ * 1j).abs().sum() + (wide * torch.randn(3, 2)).sum()
    loss.backward()
    both.step()

version = wide._version, image.weight._version
strides = [p.grad.stride() for p in (image.weight, wide) if p.grad is not None]
print(version, strides)
