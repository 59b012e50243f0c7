"""What tests of exact windows share: rows of unequal size, and where the big batches lead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss
from torch.nn.utils import clip_grad_norm_

Row = tuple[Tensor, Tensor]
SIZES = (4, 1, 3, 4, 2, 5)
"""In windows of four, the last has two micro-batches."""
RATE, CLIP = 0.1, 0.2
"""Clipping hides a gradient that is too large as a whole: it has tests of its own."""


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).double()


def rows(sizes: Sequence[int] = SIZES) -> list[Row]:
    draw = torch.Generator().manual_seed(1)
    shapes = [((size, 5), (size, 3)) for size in sizes]
    randn = partial(torch.randn, generator=draw, dtype=torch.float64)
    return [(randn(*x), randn(*y)) for x, y in shapes]


def windows(rows: Sequence[Row], size: int = 4) -> list[Sequence[Row]]:
    return [rows[i : i + size] for i in range(0, len(rows), size)]


def trained_on_big_batches(
    model: nn.Module,
    windows: Sequence[Sequence[Row]],
    criterion: Callable[[Tensor, Tensor], Tensor] = mse_loss,
    clip: float = float("inf"),
    rate: Callable[[int], float] = lambda update: RATE,
) -> Tensor:
    """Each window as one batch, by plain SGD."""
    for update, window in enumerate(windows):
        xs, ys = zip(*window, strict=True)
        model.zero_grad()
        criterion(model(torch.cat(xs)), torch.cat(ys)).backward()  # type: ignore[no-untyped-call]
        clip_grad_norm_(model.parameters(), clip)
        with torch.no_grad():
            for p in model.parameters():
                assert p.grad is not None
                p.sub_(rate(update) * p.grad)
    return flat(model)


def flat(model: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten() for p in model.parameters()])
