"""Timing on a noisy machine: candidates take turns, and what counts is the median of ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One candidate against the first, which is the baseline."""

    name: str
    seconds: float
    ratio: float
    low: float
    high: float
    goal: float | None = None

    def __str__(self) -> str:
        spread = f"{self.low:.2f} to {self.high:.2f}"
        line = f"  {self.name:<46} {_time(self.seconds):>10}  x{self.ratio:<6.2f} ({spread})"
        return line if self.goal is None else f"{line}  goal <= {self.goal:.2f}"


def compare(
    title: str,
    candidates: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 15,
    per: int = 1,
    clock: Callable[[], float] = time.process_time,
    before: Mapping[str, Callable[[], object]] | None = None,
    goals: Mapping[str, float] | None = None,
) -> list[Row]:
    """Runs all in turn, as `measure` does, and prints a line for each."""
    rows = measure(candidates, rounds=rounds, per=per, clock=clock, before=before, goals=goals)
    print(f"\n{title}")
    print(*rows, sep="\n")
    return rows


def measure(
    candidates: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 15,
    per: int = 1,
    clock: Callable[[], float] = time.process_time,
    before: Mapping[str, Callable[[], object]] | None = None,
    goals: Mapping[str, float] | None = None,
) -> list[Row]:
    """Runs all in turn, `rounds` times. Times are for one of the `per` things that a call does.

    What `before` names for a candidate is done before each of its calls, and not timed.
    """
    before, goals = before or {}, goals or {}
    prepare = {name: before.get(name, _nothing) for name in candidates}
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for name, work in candidates.items():
        prepare[name]()
        work()
    for _ in range(rounds):
        for name, work in candidates.items():
            prepare[name]()
            start = clock()
            work()
            times[name].append(clock() - start)
    base = next(iter(times.values()))
    rows = []
    for name, taken in times.items():
        ratios = sorted(t / b for t, b in zip(taken, base, strict=True))
        quarter = len(ratios) // 4
        rows.append(
            Row(
                name,
                statistics.median(taken) / per,
                statistics.median(ratios),
                ratios[quarter],
                ratios[-1 - quarter],
                goals.get(name),
            )
        )
    return rows


def _nothing() -> None:
    pass


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"
