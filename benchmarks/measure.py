"""Timing on a noisy machine: candidates take turns, and what counts is the median of ratios."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

from benchmarks.results import Growth, Ratios, Row


def compare(
    title: str,
    candidates: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 15,
    per: int = 1,
    clock: Callable[[], float] = time.process_time,
    before: Mapping[str, Callable[[], object]] | None = None,
    goals: Mapping[str, float] | None = None,
    peers: Sequence[str] = (),
    note: str = "",
) -> Ratios:
    """Runs all in turn, as `measure` does. The first is the baseline."""
    rows = measure(candidates, rounds=rounds, per=per, clock=clock, before=before, goals=goals)
    return Ratios(title, rows, note, peers=list(peers))


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
    before = before or {}
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
    return rows_of(times, per=per, goals=goals)


def rows_of(
    times: Mapping[str, Sequence[float]],
    *,
    per: int = 1,
    goals: Mapping[str, float] | None = None,
) -> list[Row]:
    """A row for each candidate, of times that were taken in turn; the first is the baseline."""
    base = next(iter(times.values()))
    goals = goals or {}
    rows = []
    for name, taken in times.items():
        ratios = sorted(t / b for t, b in zip(taken, base, strict=True))
        quarter = len(ratios) // 4
        median, ratio = statistics.median(taken) / per, statistics.median(ratios)
        rows.append(
            Row(name, median, ratio, ratios[quarter], ratios[-1 - quarter], goals.get(name))
        )
    return rows


def growth(
    title: str,
    x_label: str,
    y_label: str,
    x: Sequence[float],
    series: Mapping[str, Sequence[float | None]],
    *,
    note: str = "",
) -> Growth:
    """The series with the slope of each."""
    slopes = {name: slope(x, ys) for name, ys in series.items()}
    kept = {name: list(ys) for name, ys in series.items()}
    return Growth(title, x_label, y_label, list(x), kept, slopes, note)


def slope(x: Sequence[float], ys: Sequence[float | None]) -> float:
    """Of a line through the upper half of the points, in a log-log plot.

    The lower half shows what is paid once, and not how a thing grows.
    """
    points = [(math.log(a), math.log(b)) for a, b in zip(x, ys, strict=True) if b is not None]
    upper = points[min(len(points) // 2, len(points) - 2) :]
    across, up = zip(*upper, strict=True)
    return round(statistics.linear_regression(across, up).slope, 3) + 0.0  # and never -0


def _nothing() -> None:
    pass
