"""What a trainer has to get right: small experiments, held against the exact big batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.nn.utils import clip_grad_norm_
from torch.optim import SGD
from torch.optim.lr_scheduler import ExponentialLR
from torch.utils.data import DataLoader, Dataset

from benchmarks.results import Cell
from benchmarks.tasks import flat
from benchmarks.trainers import Batch, Trainer, Work

T = TypeVar("T")
ROUNDING = 1e-12
HALF_ROUNDING = 0.01


@dataclass(frozen=True)
class Case:
    """One row of the table: what is asked, and what one trainer makes of it."""

    meaning: str
    topic: str
    """Which of the trainer's own words say what its user did."""

    measure: Callable[[Trainer], Cell]


def net(dtype: torch.dtype = torch.float64, dropout: float = 0.0) -> nn.Module:
    torch.manual_seed(0)
    layers = nn.Linear(5, 7), nn.Tanh(), nn.Dropout(dropout), nn.Linear(7, 3)
    return nn.Sequential(*layers).to(dtype)


def micro_batches(*sizes: int, dtype: torch.dtype = torch.float64) -> list[Batch]:
    draw = partial(torch.randn, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return [(draw(size, 5).to(dtype), draw(size, 3).to(dtype)) for size in sizes]


def loader(rows: Sequence[Batch] | Dataset[Batch], *, shuffle: bool = False) -> DataLoader[Batch]:
    """Each row is a micro-batch as it is, whatever its size."""
    return DataLoader(rows, batch_size=1, collate_fn=_only, shuffle=shuffle)  # type: ignore[arg-type]


def _only(rows: list[Batch]) -> Batch:
    (row,) = rows
    return row


def work(
    rows: Sequence[Batch] | Dataset[Batch],
    *,
    model: nn.Module | None = None,
    scheduled: bool = False,
    momentum: float = 0.0,
    shuffle: bool = False,
    criterion: Callable[..., Tensor] = mse_loss,
    **options: Any,
) -> Work:
    """The same weights each time."""
    if model is None:
        model = net(torch.float32 if options.get("half") else torch.float64)
    optimizer = SGD(model.parameters(), lr=0.1, momentum=momentum)
    scheduler = ExponentialLR(optimizer, 0.5) if scheduled else None
    data = loader(rows, shuffle=shuffle)
    return Work(model, optimizer, data, criterion, scheduler=scheduler, **options)


def exact(work: Work, windows: Iterable[Sequence[Batch]]) -> Tensor:
    """Where the parameters get to when each window is one big batch."""
    for window in windows:
        xs, ys = zip(*window, strict=True)
        work.optimizer.zero_grad()
        work.criterion(work.model(torch.cat(xs)), torch.cat(ys)).backward()
        if work.clip is not None:
            clip_grad_norm_(work.model.parameters(), work.clip)
        work.optimizer.step()
        if work.scheduler is not None:
            work.scheduler.step()
    return flat(work.model)


def chunks(rows: list[T], window: int = 4) -> list[list[T]]:
    return [rows[i : i + window] for i in range(0, len(rows), window)]


def distance(end: Tensor, right: Tensor, start: Tensor) -> float:
    """How far off, as a part of the way that the parameters should have gone."""
    return float((end - right).norm() / (right - start).norm())


def judged(off: float, tolerance: float = ROUNDING) -> Cell:
    if math.isnan(off):
        return Cell("weights are NaN", False)
    if off <= tolerance:
        return Cell("holds", True, off)
    share = f"{100 * off:.0f} %" if off >= 0.01 else f"{100 * off:.1g} %"
    return Cell(f"{share} off", False, off)
