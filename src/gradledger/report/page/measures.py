"""Losses, learning rates, norms and ratios, reduced to as many points as a page can show."""

from __future__ import annotations

import base64
import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from gradledger.report.chronicle import Chronicle
from gradledger.report.page.packing import packed
from gradledger.report.visible import visible

POINTS = 20_000
"""The most points of a line; of more, the largest in each stretch is kept."""
ALL_POINTS = 120_000
"""The most points of all lines together, which many ranks share."""
COLUMNS, ROWS = 240, 64
HEATS = 8
"""Up to this many ranks have a heat map each."""

NORM, RATIO = "gradient norm", "update ratio"
LOSS, RATE = "loss", "learning rate"


class Curve(NamedTuple):
    """One of the charts: what is drawn, by the names of the series in a recording."""

    kind: str
    series: str
    title: str
    about: str


CURVES = (
    Curve(
        "loss",
        LOSS,
        "Loss",
        "What each step descends on: the sum of the values that backward was called on in its "
        "window, without a GradScaler's scale. A thin line is a finding.",
    ),
    Curve(
        "rate",
        RATE,
        "Learning rate",
        "At each step. Of several param groups, the largest.",
    ),
    Curve(
        "norm",
        NORM,
        "Gradient norm",
        "By step, always unscaled and before clipping. Squares at the top are skipped steps, "
        "ticks at the bottom are clips, and a thin line is a finding.",
    ),
    Curve(
        "ratio",
        RATIO,
        "Update-to-weight ratio",
        "How far a step moved the weights, relative to their size. About 1e-3 is common (the "
        "dotted line); far less learns slowly, far more tends to diverge.",
    ),
)
"""From the top of the page to its bottom."""


class Line(NamedTuple):
    """A number for each step of an optimizer; None where it was not finite."""

    rank: int
    lane: str
    turns: list[int]
    values: list[float | None]


class Heat(NamedTuple):
    """A number for each layer and stretch of turns, as a power of ten; None where there is none."""

    rank: int
    rows: list[str]
    lanes: list[str]
    cells: list[list[float | None]]


def lines(chronicles: Sequence[Chronicle], name: str) -> tuple[list[Line], bool]:
    """A line for each optimizer of each rank; and True if there were more points than are kept."""
    found = [
        (chronicle.run.rank, visible(lane.called), *chronicle.measured(name, number))
        for chronicle in chronicles
        for number, lane in enumerate(chronicle.lanes)
    ]
    found = [one for one in found if one[2]]
    most = min(POINTS, ALL_POINTS // max(len(found), 1))
    made = [Line(rank, lane, *_thinned(turns, values, most)) for rank, lane, turns, values in found]
    return made, any(len(one[2]) > most for one in found)


def heats(chronicles: Sequence[Chronicle], name: str) -> list[Heat]:
    """A heat map for each of the first ranks, layers of all its optimizers below each other."""
    turns = max((len(c.turns) for c in chronicles), default=0)
    made = (_heat(chronicle, name, turns) for chronicle in chronicles[:HEATS])
    return [heat for heat in made if heat is not None]


def document(chronicles: Sequence[Chronicle], name: str) -> dict[str, Any] | None:
    """The data for the script; None if nothing was measured."""
    drawn, binned = lines(chronicles, name)
    maps = heats(chronicles, name)
    if not drawn and not maps:
        return None
    return {
        "lines": [
            {"rank": d.rank, "lane": d.lane, "turns": packed_turns(d.turns), "values": d.values}
            for d in drawn
        ],
        "binned": binned,
        "heats": [_heat_document(heat) for heat in maps],
    }


def packed_turns(turns: Sequence[int]) -> list[int]:
    """As the distances between them, which repeat where the turns themselves do not."""
    return packed([b - a for a, b in zip([0, *turns], turns, strict=False)])


def _thinned(
    turns: array[int], values: array[float], most: int
) -> tuple[list[int], list[float | None]]:
    if len(turns) <= most:
        return list(turns), [_rounded(value) for value in values]
    kept_turns: list[int] = []
    kept: list[float | None] = []
    for stretch in range(most):
        a, b = stretch * len(turns) // most, (stretch + 1) * len(turns) // most
        # What is not finite is larger than anything that is.
        largest = max(range(a, b), key=lambda n: values[n] if math.isfinite(values[n]) else 1e999)
        kept_turns.append(turns[largest])
        kept.append(_rounded(values[largest]))
    return kept_turns, kept


def _rounded(value: float) -> float | None:
    return float(f"{value:.4g}") if math.isfinite(value) else None


def _heat(chronicle: Chronicle, name: str, turns: int) -> Heat | None:
    series = [
        (lane, cell, *chronicle.measured(name, lane, cell))
        for lane in range(len(chronicle.lanes))
        for cell in chronicle.cells(name, lane)
    ]
    if not series or not turns:
        return None
    columns = min(COLUMNS, turns)
    add: Callable[[float, float], float] = math.hypot if name == NORM else max
    rows: dict[tuple[int, str], list[float]] = {}
    groups = _groups([(lane, cell) for lane, cell, *_ in series])
    by_turn: dict[tuple[int, str], dict[int, float]] = {}
    for lane, cell, at, values in series:
        known = by_turn.setdefault(groups[lane, cell], {})
        for turn, value in zip(at, values, strict=True):
            if math.isfinite(value):
                known[turn] = add(known[turn], value) if turn in known else value
    for group, known in by_turn.items():
        rows[group] = _binned(known, turns, columns)
    return Heat(
        chronicle.run.rank,
        [visible(layer) for _, layer in rows],
        [visible(chronicle.lanes[lane].called) for lane, _ in rows],
        [[math.log10(value) if value > 0 else None for value in row] for row in rows.values()],
    )


def _binned(known: dict[int, float], turns: int, columns: int) -> list[float]:
    """The largest value of each stretch.

    If other lanes take turns with it, or not every step was measured, a value is held until about
    the next one is due.
    """
    row = [0.0] * columns
    held = [0.0] * columns
    measured = sorted(known)
    gaps = [b - a for a, b in pairwise(measured)]
    for turn, gap in zip(measured, [*gaps[:1], *gaps] or [1], strict=False):
        column = turn * columns // turns
        row[column] = max(row[column], known[turn])
        until = min(turn + 2 * gap - 1, turns - 1) * columns // turns
        held[column : until + 1] = [known[turn]] * (until + 1 - column)
    return [value or stood for value, stood in zip(row, held, strict=True)]


def _groups(cells: Sequence[tuple[int, str]]) -> dict[tuple[int, str], tuple[int, str]]:
    """The row of each parameter: its own, or that of its module where there are too many."""
    deepest = max(cell.count(".") for _, cell in cells) + 1
    for depth in range(deepest, 0, -1):
        groups = {(lane, cell): (lane, _prefix(cell, depth)) for lane, cell in cells}
        if len(set(groups.values())) <= ROWS:
            return groups
    names = list(dict.fromkeys(groups.values()))
    per_row = -(-len(names) // ROWS)
    rows: dict[tuple[int, str], tuple[int, str]] = {}
    for start in range(0, len(names), per_row):
        some = names[start : start + per_row]
        label = some[0][1] if len(some) == 1 else f"{some[0][1]} to {some[-1][1]}"
        rows |= dict.fromkeys(some, (some[0][0], label))
    return {cell: rows[group] for cell, group in groups.items()}


def _prefix(cell: str, depth: int) -> str:
    parts = cell.split(".")
    return cell if len(parts) <= depth else ".".join(parts[:depth]) + ".*"


def _heat_document(heat: Heat) -> dict[str, Any]:
    known = [value for row in heat.cells for value in row if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    high = max(high, low + 1e-6)
    return {
        "rank": heat.rank,
        "rows": heat.rows,
        "lanes": heat.lanes,
        "columns": len(heat.cells[0]),
        "low": round(low, 4),
        "high": round(high, 4),
        "cells": base64.b64encode(_bytes(heat.cells, low, high)).decode("ascii"),
    }


def _bytes(cells: Iterable[Iterable[float | None]], low: float, high: float) -> bytes:
    """A byte for each: 0 for nothing, else 1 to 255 from the lowest to the highest."""
    return bytes(
        0 if value is None else 1 + round((value - low) / (high - low) * 254)
        for row in cells
        for value in row
    )
