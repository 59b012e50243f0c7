"""Which numbers TensorBoard gets, under which names."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from gradledger.report.chronicle import Chronicle, Window, windows
from gradledger.report.contents import items
from gradledger.report.labels import labels
from gradledger.report.visible import visible

Values = list[tuple[str, float]]


class Point(NamedTuple):
    """Numbers of one step."""

    step: int
    ns: int
    values: Values


def points(chronicle: Chronicle) -> Iterator[Point]:
    """All of them, in order.

    An optimizer's numbers are at its own steps, counted from 1, including skipped ones. `findings`
    is for the whole run, and is at the steps of all optimizers together.
    """
    names = labels(chronicle)
    lanes = [_Lane(chronicle, lane, name) for lane, name in enumerate(names)]
    pinned = sorted(pin.turn for pin in chronicle.pins)
    for window in windows(chronicle):
        yield Point(window.number, window.ns, lanes[window.lane].values(window))
        seen = bisect_right(pinned, window.turn)
        yield Point(window.turn + 1, window.ns, [("findings", seen)])


class _Lane:
    """What is known of one optimizer, step by step."""

    def __init__(self, chronicle: Chronicle, lane: int, name: str) -> None:
        self._weights = chronicle.weights
        self._name = name
        self._skipped = 0
        self._skips = any(
            mark.kind == "skip" and lane in mark.lanes
            for pattern in set(chronicle.turns)
            for mark in chronicle.patterns[pattern]
        )
        self._series = [
            _Series(f"loss/{name}", *chronicle.measured("loss", lane)),
            _Series(f"learning_rate/{name}", *chronicle.measured("learning rate", lane)),
            _Series(f"gradient_norm/{name}", *chronicle.measured("gradient norm", lane)),
            _Series(f"update_ratio/{name}", *chronicle.measured("update ratio", lane)),
        ]
        for folder, series in (("gradients", "gradient norm"), ("update_ratios", "update ratio")):
            for cell in chronicle.cells(series, lane):
                tag = f"{folder}/{name}/{visible(cell)}"
                self._series.append(_Series(tag, *chronicle.measured(series, lane, cell)))

    def values(self, window: Window) -> Values:
        """All there is at the end of this window."""
        found: Values = []
        if self._skips:
            self._skipped += window.skipped
            found.append((f"skipped_steps/{self._name}", self._skipped))
        if not window.skipped:
            found.append((f"window_deposits/{self._name}", window.deposits))
            if (of := items(window, self._weights)) is not None:
                found.append((f"window_items/{self._name}", of))
        for series in self._series:
            value = series.at(window.turn)
            if value is not None:
                found.append((series.tag, value))
        return found


class _Series:
    """Measures of one thing, asked for turn by turn."""

    def __init__(self, tag: str, turns: array[int], values: array[float]) -> None:
        self.tag = tag
        self._turns, self._values, self._next = turns, values, 0

    def at(self, turn: int) -> float | None:
        """What was measured in this turn. Turns are asked for in order."""
        while self._next < len(self._turns) and self._turns[self._next] < turn:
            self._next += 1
        here = self._next < len(self._turns) and self._turns[self._next] == turn
        return self._values[self._next] if here else None
