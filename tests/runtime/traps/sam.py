"""Sharpness-aware minimisation: up the slope, a second backward, back down and step."""
# mypy: ignore-errors

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class SAM(torch.optim.Optimizer):
    def __init__(
        self,
        params: Iterable[Tensor],
        base: type[torch.optim.Optimizer],
        rho: float,
        **options: Any,
    ) -> None:
        super().__init__(params, {"rho": rho, **options})
        self.base_optimizer = base(self.param_groups, **options)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad: bool = False) -> None:
        norm = torch.stack(
            [p.grad.norm() for g in self.param_groups for p in g["params"] if p.grad is not None]
        ).norm()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old"] = p.data.clone()
                p.add_(p.grad * (group["rho"] / (norm + 1e-12)))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad: bool = False) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.data = self.state[p]["old"]
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()


x = torch.randn(64, 4)
loader = DataLoader(TensorDataset(x, x.argmax(dim=1)), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.05, lr=0.1)
loss_fn = nn.CrossEntropyLoss()

for _epoch in range(3):
    for inputs, labels in loader:
        loss_fn(model(inputs), labels).backward()
        optimizer.first_step(zero_grad=True)
        loss_fn(model(inputs), labels).backward()
        optimizer.second_step(zero_grad=True)
