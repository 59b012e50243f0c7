"""Rows a to e: windows of micro-batches, equal and unequal, and the last one that is short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from benchmarks.cases import HALF_ROUNDING, ROUNDING, Case, chunks, distance, exact, judged, work
from benchmarks.cases import micro_batches as rows_of
from benchmarks.results import Cell
from benchmarks.tasks import flat
from benchmarks.trainers import IGNORED, Batch, Trainer


def tokens_loss(prediction: Tensor, labels: Tensor, reduction: str = "mean") -> Tensor:
    """Over all tokens that have a label."""
    labels = labels.flatten()
    return cross_entropy(prediction.flatten(0, 1), labels, reduction=reduction)


def sentences(*valid: int) -> list[Batch]:
    """Micro-batches of two sentences of 8 tokens, of which so many have labels."""
    generator = torch.Generator().manual_seed(1)
    rows = []
    for count in valid:
        x = torch.randn(2, 8, 5, generator=generator, dtype=torch.float64)
        labels = torch.randint(3, (16,), generator=generator)
        labels[count:] = IGNORED
        rows.append((x, labels.view(2, 8)))
    return rows


def _case(
    meaning: str, rows: Callable[[], list[Batch]], *, half: bool = False, **options: Any
) -> Case:
    def measure(trainer: Trainer) -> Cell:
        job, big = (work(rows(), half=half, **options) for _ in range(2))
        start = flat(big.model)
        right = exact(big, chunks(rows()))
        trainer.train(job)
        return judged(distance(flat(job.model), right, start), HALF_ROUNDING if half else ROUNDING)

    return Case(meaning, "half" if half else "train", measure)


CASES = {
    "a": _case("4 equal micro-batches", lambda: rows_of(4, 4, 4, 4)),
    "b": _case("unequal micro-batches: 4, 4, 4, 2", lambda: rows_of(4, 4, 4, 2)),
    "c": _case(
        "unequal numbers of tokens with labels: 16, 3, 9, 1",
        lambda: sentences(16, 3, 9, 1),
        criterion=tokens_loss,
    ),
    "d": _case(
        "10 micro-batches in windows of 4: the last window has 2", lambda: rows_of(*[4] * 10)
    ),
    "e": _case(
        "fp16 with a GradScaler, clipped: to within 1 %",
        lambda: rows_of(*[4] * 8, dtype=torch.float32),
        half=True,
        clip=0.1,
    ),
}
