"""Where we lose: what a peer does better, and the goals that are missed. Said by the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.results import Ratios, Results, Row, Verdicts
from benchmarks.telling import FLOOR, best, by_ratio, is_ours, ratio


@dataclass(frozen=True)
class Loss:
    """One thing in which we are not the best, or not as good as we want to be."""

    where: str
    ours: str
    better: str
    remark: str = ""


def losses(results: Results) -> Iterator[Loss]:
    """In the order of its tables."""
    ratios = [table for table in results.tables.values() if isinstance(table, Ratios)]
    floors = {table.title: row for table in ratios for row in table.rows if row.name == FLOOR}
    for table in results.tables.values():
        if isinstance(table, Ratios):
            yield from _slower(table)
            yield from _missed(table, floors.get(table.title))
        elif isinstance(table, Verdicts):
            yield from _wrong(table)


def _slower(table: Ratios) -> Iterator[Loss]:
    winner = best(table)
    if winner is None or is_ours(winner.name):
        return
    ours = min((row for row in table.rows if is_ours(row.name) and row.ratio), key=by_ratio)
    if _told(ours) == _told(winner):  # the same number, as far as anyone can see
        return
    close = ours.low is not None and winner.high is not None and ours.low <= winner.high
    yield Loss(
        table.title,
        f"{ours.name} {_told(ours)}",
        f"{winner.name} {_told(winner)}",
        "within the noise" if close else "",
    )


def _missed(table: Ratios, floor: Row | None) -> Iterator[Loss]:
    """`floor`: what no loop of this title can pass, whatever the goal is."""
    for row in table.rows:
        if row.goal is not None and row.ratio is not None and row.ratio > row.goal:
            remark = ""
            if floor is not None and floor.low is not None and row.goal < floor.low:
                remark = f"out of reach: {FLOOR}, {_told(floor)}"
            elif row.low is not None and row.low <= row.goal:
                remark = "within the noise"
            elif floor is not None:
                remark = f"{FLOOR}, {_told(floor)}"
            yield Loss(
                table.title, f"{row.name} {_told(row)}", f"its goal, {ratio(row.goal)}", remark
            )


def _wrong(table: Verdicts) -> Iterator[Loss]:
    for case, cells in table.cells.items():
        ours = [name for name in table.candidates if is_ours(name)]
        bad = [name for name in ours if cells[name].good is False]
        if not bad or any(cells[name].good for name in ours):
            continue
        right = [name for name in table.candidates if cells[name].good]
        said = ", ".join(f"{name}: {cells[name].verdict}" for name in bad)
        yield Loss(f"{table.title}: {case}", said, ", ".join(right) or "nobody")


def _told(row: Row) -> str:
    return ratio(by_ratio(row))
