"""Trains the same small network with every optimizer of torch, in every way that it offers."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor, nn, optim

SPECIAL = {"Optimizer", "LBFGS", "SparseAdam", "Muon"}
CLASSES = [
    getattr(optim, name)
    for name in sorted(dir(optim))
    if inspect.isclass(getattr(optim, name)) and name not in SPECIAL
]
WAYS: list[dict[str, Any]] = [{"foreach": False}, {"foreach": True}, {"fused": True}]

trained: list[nn.Module] = []


def network() -> nn.Sequential:
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.Tanh(), nn.Linear(8, 1))


def train(model: nn.Module, optimizer: optim.Optimizer) -> None:
    for number in range(4):
        x = torch.randn(6, 4)

        def closure(x: Tensor = x, to_none: bool = number % 2 == 0) -> Tensor:
            optimizer.zero_grad(set_to_none=to_none)
            loss: Tensor = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
            loss.backward()  # type: ignore[no-untyped-call]
            return loss

        if isinstance(optimizer, optim.LBFGS):
            optimizer.step(closure)  # type: ignore[no-untyped-call]
        else:
            closure()
            optimizer.step()
    trained.append(model)


for cls in CLASSES:
    accepted = inspect.signature(cls.__init__).parameters
    for way in [{}, *(way for way in WAYS if set(way) <= set(accepted))]:
        extra: dict[str, Any] = {"momentum": 0.9} if "momentum" in accepted else {}
        model = network()
        train(model, cls(model.parameters(), lr=0.01, **extra, **way))

model = network()
train(model, optim.LBFGS(model.parameters(), max_iter=3, line_search_fn="strong_wolfe"))

model = network()
if hasattr(optim, "Muon"):  # new in torch 2.9
    train(model, optim.Muon([p for p in model.parameters() if p.ndim == 2]))

table = nn.Embedding(10, 3, sparse=True)
rows = optim.SparseAdam(table.parameters(), lr=0.1)
for number in range(4):
    rows.zero_grad()
    table(torch.tensor([number, 3, 3])).pow(2).sum().backward()
    rows.step()  # type: ignore[no-untyped-call]
trained.append(table)

print(len(trained), sum(float(p.abs().sum()) for m in trained for p in m.parameters()))
