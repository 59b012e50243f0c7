"""Trains with each optimizer of PyPI by hand and with a Stepper, and prints who differs, as JSON.

python -m tests.engine.programs.pypi_optimizers, in an environment that has them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from gradledger import Stepper

Make = Callable[[nn.Module], Any]


def by_name(package: str, name: str, **options: Any) -> Make:
    return lambda model: getattr(import_module(package), name)(model.parameters(), **options)


def muon(model: nn.Module) -> Any:
    matrices = [p for p in model.parameters() if p.dim() == 2]
    rest = [p for p in model.parameters() if p.dim() != 2]
    return import_module("pytorch_optimizer").Muon(
        [{"params": matrices, "use_muon": True}, {"params": rest, "use_muon": False}]
    )


MANY = [
    "AdaBelief",
    "AdaFactor",
    "AdEMAMix",
    "Adan",
    "CAME",
    "GaLore",
    "Lamb",
    "Lion",
    "MADGRAD",
    "Prodigy",
    "SOAP",
    "SPAM",
    "ScalableShampoo",
    "Shampoo",
    "StableAdamW",
    "TAM",
]
"""Of pytorch_optimizer, with their defaults."""

MAKERS: dict[str, Make] = {
    "SGDScheduleFree": by_name("schedulefree", "SGDScheduleFree", lr=0.1),
    "AdamWScheduleFree": by_name("schedulefree", "AdamWScheduleFree", lr=0.01),
    "RAdamScheduleFree": by_name("schedulefree", "RAdamScheduleFree", lr=0.01),
    "lion_pytorch.Lion": by_name("lion_pytorch", "Lion", lr=0.01),
    "prodigyopt.Prodigy": by_name("prodigyopt", "Prodigy"),
    "DAdaptAdam": by_name("dadaptation", "DAdaptAdam"),
    "DAdaptSGD": by_name("dadaptation", "DAdaptSGD"),
    "Ranger21": by_name("pytorch_optimizer", "Ranger21", num_iterations=12),
    "Muon": muon,
} | {name: by_name("pytorch_optimizer", name) for name in MANY}


def net() -> nn.Sequential:
    torch.manual_seed(0)  # also for optimizers that draw
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8), nn.Linear(8, 2)).double()


def difference(make: Make, accumulate: int, *, pack: bool) -> str:
    """What is wrong, if anything is."""
    generator = torch.Generator().manual_seed(1)
    data = torch.randn(12, 4, 4, generator=generator, dtype=torch.float64)

    def loss_of(model: nn.Module, x: Tensor) -> Tensor:
        loss: Tensor = (model(x) - x[:, :2]).square().mean()
        return loss

    theirs = net()
    start = [p.detach().clone() for p in theirs.parameters()]
    optimizer = make(theirs)
    _train_mode(optimizer)
    for i, x in enumerate(data):
        torch.autograd.backward(loss_of(theirs, x) / accumulate)
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
    ours = net()
    optimizer = make(ours)
    _train_mode(optimizer)
    stepper = Stepper(ours, optimizer, accumulate=accumulate, pack=pack)
    for x in stepper.over(data):
        stepper.backward(loss_of(ours, x), items=len(x))
    if all(map(torch.equal, ours.parameters(), start)):
        return "nothing moved"
    pairs = zip(ours.parameters(), theirs.parameters(), strict=True)
    most = max(float((a - b).detach().abs().max()) for a, b in pairs)
    return f"off by {most:.1e}" if most else ""


def _train_mode(optimizer: Any) -> None:
    if hasattr(optimizer, "train"):
        optimizer.train()


if __name__ == "__main__":
    verdicts = {
        f"{name}, windows of {accumulate}, pack={pack}": difference(make, accumulate, pack=pack)
        for name, make in MAKERS.items()
        for accumulate in (1, 2)
        for pack in (True, False)
    }
    print(json.dumps(verdicts))
