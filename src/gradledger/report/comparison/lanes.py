"""The optimizers of two runs, and what became of their windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from gradledger.ledger.events import Weight
from gradledger.ledger.values import replace
from gradledger.report.chronicle import NOBODY, Chronicle, Used, Window, weighed, windows
from gradledger.report.contents import items
from gradledger.report.counts import counted
from gradledger.report.labels import labels


class Change(NamedTuple):
    """How many windows changed from one shape to another between the runs."""

    before: str
    after: str
    windows: int
    step: int
    """The first of them."""


class Windows(NamedTuple):
    """The windows of one optimizer in both runs, all ranks together."""

    optimizer: str
    before: int
    after: int
    """How many there were."""
    skipped: tuple[int, int]
    compared: int
    """How many windows both runs have, counted step by step."""
    sizes: tuple[Change, ...]
    weights: tuple[Change, ...]
    items: tuple[float | None, float | None]
    """The median number of items of a window."""


def paired(before: Chronicle, after: Chronicle) -> list[tuple[str, int | None, int | None]]:
    """Matches lanes by the program's names; if one lane is left on each side, those two match."""
    old, new = _numbered(before), _numbered(after)
    found: list[tuple[str, int | None, int | None]]
    found = [(name, old[name], new.get(name)) for name in old]
    found += [(name, None, new[name]) for name in new if name not in old]
    lonely = [pair for pair in found if None in pair]
    match lonely:
        case [(name, int(was), None), (other, None, int(now))]:
            found = [pair for pair in found if pair not in lonely]
            found.append((f"{name} → {other}", was, now))
    return found


def compared(pairs: Sequence[tuple[Chronicle, Chronicle]]) -> tuple[Windows, ...]:
    """Optimizer by optimizer; `pairs` are the same ranks of both runs."""
    found: dict[str, _Counting] = {}
    for before, after in pairs:
        old, new = _shapes(before), _shapes(after)
        for name, was, now in paired(before, after):
            counting = found.setdefault(name, _Counting())
            counting.add(old.get(was, ()), new.get(now, ()))
    return tuple(counting.told(name) for name, counting in found.items())


class _Shape(NamedTuple):
    """The properties by which windows are compared."""

    skipped: bool
    size: str
    weights: str
    items: int | None


class _Counting:
    """Counts windows in pairs."""

    def __init__(self) -> None:
        self._counts = Counter[bool](), Counter[bool]()
        self._items: tuple[list[int], list[int]] = [], []
        self._sizes: dict[tuple[str, str], list[int]] = {}
        self._weights: dict[tuple[str, str], list[int]] = {}
        self._compared = 0

    def add(self, old: Sequence[_Shape], new: Sequence[_Shape]) -> None:
        for side, shapes in enumerate((old, new)):
            self._counts[side].update(shape.skipped for shape in shapes)
            self._items[side].extend(shape.items for shape in shapes if shape.items is not None)
        self._compared += min(len(old), len(new))
        for step, (was, now) in enumerate(zip(old, new, strict=False), 1):
            if was.size != now.size:
                self._sizes.setdefault((was.size, now.size), [0, step])[0] += 1
            # What one run could not observe isn't a change in the other.
            if was.weights != now.weights and was.weights and now.weights:
                self._weights.setdefault((was.weights, now.weights), [0, step])[0] += 1

    def told(self, name: str) -> Windows:
        old, new = self._counts
        return Windows(
            name,
            old.total(),
            new.total(),
            (old[True], new[True]),
            self._compared,
            tuple(_changes(self._sizes)),
            tuple(_changes(self._weights)),
            (_median(self._items[0]), _median(self._items[1])),
        )


def _numbered(chronicle: Chronicle) -> dict[str, int]:
    named = zip(labels(chronicle), chronicle.lanes, strict=True)
    return {label: n for n, (label, lane) in enumerate(named) if lane.name != NOBODY}


def _shapes(chronicle: Chronicle) -> dict[int | None, list[_Shape]]:
    """For each lane, the shapes of its windows. Equal shapes share one object."""
    found: dict[int | None, list[_Shape]] = {}
    known: dict[tuple[bool, tuple[Used, ...]], _Shape] = {}
    for window in windows(chronicle):
        key = window.skipped, window.used
        if key not in known:
            known[key] = _Shape(
                window.skipped,
                _size(window),
                _weights(window, chronicle.weights),
                items(window, chronicle.weights),
            )
        found.setdefault(window.lane, []).append(known[key])
    return found


def _size(window: Window) -> str:
    if window.skipped:
        return "skipped"
    again = any(used.again for used in window.used)
    return counted(window.deposits, "deposit") + (" and spent ones" if again else "")


def _weights(window: Window, weights: Sequence[Weight]) -> str:
    """The weight of its deposits, without the batch size: `mean, divided by 4`. Empty: unknown."""
    found = (weights[number] for used in window.used for number in used.weights)
    words = {weighed(replace(weight, items=None, items_vary=False)) for weight in found}
    return " and ".join(sorted(filter(None, words)))


def _changes(found: dict[tuple[str, str], list[int]]) -> Iterator[Change]:
    """The changes, those of most windows first."""
    for (was, now), (count, step) in sorted(found.items(), key=lambda one: -one[1][0]):
        yield Change(was, now, count, step)


def _median(numbers: Sequence[int]) -> float | None:
    return median(numbers) if numbers else None
