"""The optimizer is no one of torch's, and clears in its own way, without asking its base class."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn


class Decay(torch.optim.SGD):
    def __init__(self, parameters: Iterable[Tensor], lr: float) -> None:
        self.history: list[float] = []
        super().__init__(parameters, lr=lr)

    def zero_grad(self, set_to_none: bool = True) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    def step(self, closure: Any = None) -> Any:
        result = super().step(closure)
        self.history.append(float(self.param_groups[0]["params"][0].sum()))
        return result


torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = Decay(model.parameters(), lr=0.05)

for _ in range(5):
    optimizer.zero_grad()  # the clear
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()  # GL101: without the clear
