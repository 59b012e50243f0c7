"""The optimizers on the panel: a table with a row for each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gradledger.cli.panel.course import sparkline
from gradledger.cli.panel.facts import Lane
from gradledger.report.terminal import Line, Piece, width
from gradledger.report.visible import columns, cut, visible

LONGEST_NAME = 20
INDENT, GAP = "  ", "   "
FOLLOWED = 2.0
"""How many deposits per second the eye can follow. Faster ones are not shown one by one."""
NUMBER = 10
FEWEST_BARS, MOST_BARS = 8, 32


class _Column(NamedTuple):
    head: str
    cells: Sequence[Line]
    least: int
    """The minimum width, so that the column doesn't grow with every digit."""
    left: bool = False

    @property
    def width(self) -> int:
        return max(self.least, columns(self.head), *map(width, self.cells))

    def padded(self, line: Line) -> Line:
        room = " " * (self.width - width(line))
        return [*line, room] if self.left else [room, *line]


def lane_rows(lanes: Sequence[Lane], room: int) -> Iterator[Line]:
    """A row of heads and one for each optimizer, or a word on there being none.

    What has no room is left out, the least important first.
    """
    if not lanes:
        yield [INDENT, ("no optimizer so far", "dim")]
        return
    table = list(_columns(lanes))
    while len(table) > 1 and _width(table) > room:
        table.remove(min(table, key=lambda column: _WEIGHTS[column.head]))
    if table[-1].head == NORM:
        # The sparkline of the norms gets the remaining width.
        free = room - _width(table) - len(INDENT)
        table[-1] = _norms(lanes, bars=min(table[-1].width - NUMBER + free, MOST_BARS))
    for row in ([[(column.head, "dim")] for column in table], *_across(table)):
        line: list[Piece] = [INDENT]
        for place, (column, cell) in enumerate(zip(table, row, strict=True)):
            line += [GAP if place else "", *column.padded(cell)]
        yield line


def _across(table: Sequence[_Column]) -> Iterator[Sequence[Line]]:
    return zip(*(column.cells for column in table), strict=True)


def _width(table: Sequence[_Column]) -> int:
    return len(INDENT) + sum(column.width for column in table) + len(GAP) * (len(table) - 1)


NORM = "gradient norm"
_WEIGHTS = {"optimizer": 6, "steps": 5, "skipped": 4, NORM: 3, "window": 2, "steps/s": 1}


def _columns(lanes: Sequence[Lane]) -> Iterator[_Column]:
    names = [[(cut(visible(lane.called), LONGEST_NAME), "title")] for lane in lanes]
    yield _Column("optimizer", names, 9, left=True)
    yield _Column("steps", [[f"{lane.steps:,}"] for lane in lanes], 7)
    yield _Column("steps/s", [[_speed(lane.per_second)] for lane in lanes], 7)
    yield _Column("window", [[_window(lane)] for lane in lanes], 6)
    if any(lane.skipped for lane in lanes):
        yield _Column("skipped", [_skipped(lane.skipped) for lane in lanes], 7)
    if any(lane.norm is not None for lane in lanes):
        yield _norms(lanes)


def _speed(per_second: float | None) -> str:
    """A number with three significant digits: `1,234`, `12.3`, `0.0123`."""
    if per_second is None:
        return ""
    if per_second >= 100 or not per_second:
        return f"{per_second:,.0f}"
    return f"{per_second:.3g}"


def _window(lane: Lane) -> str:
    """`4`, as many deposits as the latest step has spent; where it goes slowly, `3 of 4`."""
    if lane.window is None:
        return f"{lane.gathered:,}" if lane.gathered else ""
    pace = (lane.per_second or 0) * lane.window
    if lane.window < 2 or pace > FOLLOWED or lane.gathered > lane.window:
        return f"{lane.window:,}"
    return f"{lane.gathered:,} of {lane.window:,}"


def _skipped(steps: int) -> Line:
    return [(f"{steps:,}", "warning" if steps else "dim")]


def _norms(lanes: Sequence[Lane], bars: int = 0) -> _Column:
    """The latest number, and how it came there if there is room for it."""
    cells: list[Line] = []
    for lane in lanes:
        number = "" if lane.norm is None else f"{lane.norm:.3g}"
        style = "error" if lane.norm is not None and not math.isfinite(lane.norm) else ""
        course = sparkline(lane.course, bars) if bars >= FEWEST_BARS else ""
        cells.append([(f"{number:{NUMBER}}", style), (course, "code")])
    return _Column(NORM, cells, len(NORM), left=True)
