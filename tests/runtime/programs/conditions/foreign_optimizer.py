"""The optimizer is no one of torch's; it takes over how gradients are cleared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn


class Sign(torch.optim.Optimizer):
    def __init__(self, parameters: Iterable[Tensor], lr: float) -> None:
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.add_(parameter.grad.sign(), alpha=-group["lr"])


torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = Sign(model.parameters(), lr=0.05)

for _ in range(5):
    optimizer.zero_grad()  # the clear
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()  # GL101: without the clear
