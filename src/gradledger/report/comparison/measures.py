"""Gradient norms and update ratios of two runs, step by step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from gradledger.report.chronicle import Chronicle, windows
from gradledger.report.comparison.lanes import paired

NAMES = ("gradient norm", "update ratio")


class Measures(NamedTuple):
    """One measured series of an optimizer in both runs."""

    rank: int
    name: str
    optimizer: str
    before: float | None
    after: float | None
    """The medians of all finite values."""
    compared: int
    """How many steps both runs measured."""
    equal: int
    """How many of these steps have exactly the same value."""
    first: int | None
    """The first step with a different value."""
    ratio: float | None
    """The median of after / before."""
    largest: float | None
    """The ratio furthest from 1, up or down."""
    largest_step: int | None


def compared(before: Chronicle, after: Chronicle) -> Iterator[Measures]:
    """One for each optimizer that either run measured."""
    steps = _steps(before), _steps(after)
    for name in NAMES:
        for optimizer, was, now in paired(before, after):
            old = _by_step(before, name, was, steps[0])
            new = _by_step(after, name, now, steps[1])
            if old or new:
                yield _compared(before.run.rank, name, optimizer, old, new)


def _compared(
    rank: int, name: str, optimizer: str, old: dict[int, float], new: dict[int, float]
) -> Measures:
    both = sorted(old.keys() & new.keys())
    unequal = [step for step in both if not _same(old[step], new[step])]
    ratios = {
        step: new[step] / old[step]
        for step in both
        if math.isfinite(old[step]) and math.isfinite(new[step]) and old[step] > 0 < new[step]
    }
    furthest = max(ratios, key=lambda step: abs(math.log(ratios[step])), default=None)
    return Measures(
        rank,
        name,
        optimizer,
        _median(old),
        _median(new),
        len(both),
        len(both) - len(unequal),
        unequal[0] if unequal else None,
        median(ratios.values()) if ratios else None,
        None if furthest is None else ratios[furthest],
        furthest,
    )


def _steps(chronicle: Chronicle) -> dict[int, int]:
    """The number of each turn's step, counted for its optimizer."""
    return {window.turn: window.number for window in windows(chronicle)}


def _by_step(
    chronicle: Chronicle, name: str, lane: int | None, steps: dict[int, int]
) -> dict[int, float]:
    if lane is None:
        return {}
    return {
        steps[turn]: value
        for turn, value in zip(*chronicle.measured(name, lane), strict=True)
        if turn in steps
    }


def _same(old: float, new: float) -> bool:
    return old == new or (math.isnan(old) and math.isnan(new))


def _median(values: dict[int, float]) -> float | None:
    finite = [value for value in values.values() if math.isfinite(value)]
    return median(finite) if finite else None
