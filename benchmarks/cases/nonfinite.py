"""Row i: a gradient that is not finite."""

from __future__ import annotations

from functools import partial

import torch

from benchmarks.cases import (
    HALF_ROUNDING,
    ROUNDING,
    Case,
    chunks,
    distance,
    exact,
    judged,
    micro_batches,
    work,
)
from benchmarks.results import Cell
from benchmarks.tasks import flat
from benchmarks.trainers import Batch, NotOffered, Trainer, Work

CULPRIT = 5  # the second of the second window


def rows(half: bool) -> list[Batch]:
    found = micro_batches(*[4] * 12, dtype=torch.float32 if half else torch.float64)
    found[CULPRIT][1][0, 0] = torch.inf
    return found


def job(half: bool) -> Work:
    return work(rows(half), momentum=0.9, scheduled=True, clip=10.0, half=half)


def measure(half: bool, trainer: Trainer) -> Cell:
    """Right is what windows 1 and 3 make of it alone: weights, momentum and learning rate."""
    big, trained = job(half), job(half)
    start = flat(big.model).clone()
    first, _, third = chunks(rows(half))
    right = exact(big, [first, third])
    said = ""
    try:
        trainer.train(trained)
    except NotOffered:
        raise
    except Exception as error:
        said = f"raises {type(error).__name__}"
    end = flat(trained.model)
    if not end.isfinite().all():
        return Cell("weights are NaN", False, how=said)
    if said:
        return Cell(said, True, how="the weights are finite")
    cell = judged(distance(end, right, start), HALF_ROUNDING if half else ROUNDING)
    assert trained.scheduler is not None
    moves = trained.scheduler.last_epoch
    if cell.good or moves == 2:
        return cell
    how = f"the scheduler moved {moves} times for 2 updates"
    return Cell(f"{cell.verdict}: scheduler moved", False, cell.value, how)


CASES = {
    "i1": Case("a gradient that is not finite", "train", partial(measure, False)),
    "i2": Case(
        "the same with a GradScaler: to within 1 %",
        "half",
        partial(measure, True),
    ),
}
