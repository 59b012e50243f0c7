"""The windows of a chronicle, one by one, for tables."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from gradledger.report.chronicle.story import Chronicle, Part


class Used(NamedTuple):
    """The deposits of one call site that a step spent; the weights of the new ones, in order."""

    site: int
    again: bool
    deposits: int
    parameters: int
    weights: tuple[int, ...] = ()


class Window(NamedTuple):
    """What one step spent, or would have spent had it not been skipped."""

    lane: int
    number: int
    """Steps and skipped steps of this optimizer are counted from 1."""
    turn: int
    opened: int
    """The turn in which its first new deposit was made."""
    ns: int
    """When it ended, in nanoseconds since the start."""
    skipped: bool
    site: int
    """The place of the step."""
    used: tuple[Used, ...]

    @property
    def deposits(self) -> int:
        """How many new deposits were spent."""
        return sum(used.deposits for used in self.used if not used.again)


class _Walk:
    """The state that is carried from turn to turn."""

    def __init__(self, chronicle: Chronicle) -> None:
        self.chronicle = chronicle
        self.deposit = self.spend = 0
        self.recent: dict[tuple[int, int], deque[int]] = {}
        """For each lane and site, the weights of the latest deposits."""
        self.numbers: dict[int, int] = {}
        self.longest = max(
            (p.deposits for s in chronicle.spendings for p in s.parts if not p.again), default=0
        )

    def deposited(self, site: int, lanes: tuple[int, ...]) -> None:
        weight = self.chronicle.deposits[self.deposit]
        self.deposit += 1
        for lane in lanes:
            self.recent.setdefault((lane, site), deque(maxlen=self.longest)).append(weight)

    def used(self, lane: int, part: Part) -> Used:
        weights: tuple[int, ...] = ()
        if not part.again:
            weights = tuple(self.recent.get((lane, part.site), ()))[-part.deposits :]
        return Used(part.site, part.again, part.deposits, part.parameters, weights)


def windows(chronicle: Chronicle) -> Iterator[Window]:
    """All windows that a step ended, in order."""
    walk = _Walk(chronicle)
    for turn, pattern in enumerate(chronicle.turns):
        for mark in chronicle.patterns[pattern]:
            if mark.kind == "deposit":
                walk.deposited(mark.site, mark.lanes)
            elif mark.kind in ("spend", "skip"):
                (lane,) = mark.lanes
                opened, used = turn, tuple[Used, ...]()
                if mark.kind == "spend":
                    spending = chronicle.spendings[chronicle.spends[walk.spend]]
                    walk.spend += 1
                    opened = turn - spending.opened
                    used = tuple(walk.used(lane, part) for part in spending.parts)
                number = walk.numbers[lane] = walk.numbers.get(lane, 0) + 1
                yield Window(
                    lane,
                    number,
                    turn,
                    opened,
                    chronicle.times[turn],
                    mark.kind == "skip",
                    mark.site,
                    used,
                )
