"""Models to train and ways to train them, all from the same weights and with the same batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

CLIP = 1.0
Data = list[tuple[Tensor, Tensor]]
Way = Callable[["Task", int], "Loop"]
"""Makes a loop for a task and a window: so many micro-batches go into each update."""


def small() -> nn.Module:
    return nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))


def chain(tensors: int) -> nn.Module:
    """Linear layers and nothing between them, orthogonal at first: so deep, others die out."""
    layers = [nn.Linear(16, 16, bias=False) for _ in range(tensors)]
    for layer in layers:
        nn.init.orthogonal_(layer.weight)
    return nn.Sequential(*layers)


def transformer() -> nn.Module:
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)


def deep(width: int) -> nn.Module:
    return nn.Sequential(*(m for _ in range(24) for m in (nn.Linear(width, width), nn.ReLU())))


@dataclass(frozen=True)
class Task:
    """A model to train, always from the same weights and with the same batches."""

    name: str
    model: Callable[[], nn.Module]
    optimizer: Callable[..., Optimizer]
    shape: tuple[int, ...]  # of x; y has it too, but for its last dimension
    outputs: int
    goal: float | None = None
    dtype: torch.dtype = torch.float32
    clip: float | None = CLIP
    batches: int = 4  # in one timed call
    rounds: int = 15
    checked: int = 40  # batches, before anything is timed

    def make(self, **options: Any) -> tuple[nn.Module, Optimizer]:
        torch.manual_seed(0)
        model = self.model().to(self.dtype)
        return model, self.optimizer(model.parameters(), lr=1e-3, **options)

    def data(self, count: int) -> Data:
        torch.manual_seed(1)
        y = (*self.shape[:-1], self.outputs)
        draw = partial(torch.randn, dtype=self.dtype)
        return [(draw(self.shape), draw(y)) for _ in range(count)]


@dataclass(frozen=True)
class Loop:
    """A way to train a model on some batches."""

    model: nn.Module
    run: Callable[[Data], object]


def must_agree(task: Task, window: int, ways: Mapping[str, Way]) -> None:
    """Trains in all these ways, and fails unless all end where the first does.

    In float64 up to rounding, and in float32, where AdamW makes much of the rounding of tiny
    gradients, up to 5 % of the way that the parameters went.
    """
    for dtype, tolerance in ((torch.float64, 1e-9), (torch.float32, 0.05)):
        exact = replace(task, dtype=dtype, shape=(2, *task.shape[1:]))
        start = flat(exact.make()[0])
        data = exact.data(task.checked)
        ends = {}
        for name, way in ways.items():
            loop = way(exact, window)
            loop.run(data)
            ends[name] = flat(loop.model)
        right = next(iter(ends.values()))
        for name, end in ends.items():
            off = float((end - right).norm() / (right - start).norm())
            if not off <= tolerance:
                what = f"{task.name}, windows of {window}, {dtype}: {name}"
                raise AssertionError(f"{what} is off by {off:.1e} of the way, not {tolerance:.0e}")


def flat(model: nn.Module) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
