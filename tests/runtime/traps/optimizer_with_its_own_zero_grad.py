"""A subclass that clears its own way, and a lookahead wrapper that steps the inner optimizer."""
# mypy: ignore-errors

from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class TidySGD(torch.optim.SGD):
    def zero_grad(self, set_to_none: bool = True) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                p.grad = None


class Lookahead:
    def __init__(self, optimizer: torch.optim.Optimizer, every: int, alpha: float) -> None:
        self.optimizer, self.every, self.alpha, self.count = optimizer, every, alpha, 0
        self.slow = [p.detach().clone() for g in optimizer.param_groups for p in g["params"]]

    def zero_grad(self) -> None:
        self.optimizer.zero_grad()

    def step(self) -> Any:
        self.optimizer.step()
        self.count += 1
        if self.count % self.every == 0:
            fast = [p for g in self.optimizer.param_groups for p in g["params"]]
            with torch.no_grad():
                for p, s in zip(fast, self.slow, strict=True):
                    s.lerp_(p, self.alpha)
                    p.copy_(s)


x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.sum(dim=1, keepdim=True)), batch_size=8, shuffle=True)
model = nn.Linear(4, 1)
optimizer = Lookahead(TidySGD(model.parameters(), lr=0.05), every=5, alpha=0.5)

for _epoch in range(3):
    for inputs, targets in loader:
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), targets).backward()
        optimizer.step()
