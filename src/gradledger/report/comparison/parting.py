"""Finds the first step at which two runs did different things."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from gradledger.report.chronicle import Chronicle, Mark, Spending
from gradledger.report.comparison.lanes import paired
from gradledger.report.counts import counted

WORDS = {
    "spend": "step",
    "skip": "skipped step",
    "schedule": "scheduler step",
    "update": "scaler update",
    "norm": "norm taken",
}
_SILENT = ("epoch", "end")
"""Marks that belong to the data, not to a step."""


class Parting(NamedTuple):
    """The first step at which two runs did different things."""

    rank: int
    step: int
    """Steps of all optimizers are counted together, from 1."""
    before: str
    after: str


class Deed(NamedTuple):
    """What was done in a turn, in terms that both runs share: kinds of events and optimizers."""

    marks: tuple[tuple[str, tuple[str, ...]], ...]
    spends: int
    again: int

    def told(self, *, named: bool) -> str:
        """The deed in words. `named`: with the names of the optimizers, if there are several."""
        said = []
        for (kind, names), n in Counter(self.marks).items():
            word = "into" if kind == "deposit" else "of"
            of = f" {word} {' and '.join(names)}" if named and names else ""
            said.append(f"{counted(n, WORDS.get(kind, kind))}{of}")
            if kind == "spend":
                again = f" and {self.again:,} again" if self.again else ""
                said[-1] += f" that spends {counted(self.spends, 'deposit')}{again}"
        if not any(kind in ("spend", "skip") for kind, _ in self.marks):
            said.append("and no step")
        return ", ".join(said)


def parting(before: Chronicle, after: Chronicle) -> Parting | None:
    """Where the runs part; None if they never do. Places in the code are not compared."""
    names = paired(before, after)
    old = {was: name for name, was, _ in names if was is not None}
    new = {now: name for name, _, now in names if now is not None}
    for step, (was, now) in enumerate(zip_longest(_deeds(before, old), _deeds(after, new)), 1):
        if was != now:
            said = [
                "has ended" if deed is None else deed.told(named=len(names) > 1)
                for deed in (was, now)
            ]
            return Parting(before.run.rank, step, *said)
    return None


def _deeds(chronicle: Chronicle, names: dict[int, str]) -> Iterator[Deed]:
    marks = [_marks(pattern, names) for pattern in chronicle.patterns]
    steps = [any(kind == "spend" for kind, _ in done) for done in marks]
    spendings = [_counts(spending) for spending in chronicle.spendings]
    spends = iter(chronicle.spends)
    for pattern in chronicle.turns:
        spent = spendings[next(spends)] if steps[pattern] else (0, 0)
        if marks[pattern]:
            yield Deed(marks[pattern], *spent)


def _marks(
    pattern: tuple[Mark, ...], names: dict[int, str]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple(
        (mark.kind, tuple(sorted(names.get(lane, "no optimizer") for lane in mark.lanes)))
        for mark in pattern
        if mark.kind not in _SILENT
    )


def _counts(spending: Spending) -> tuple[int, int]:
    spent = Counter[bool]()
    for part in spending.parts:
        spent[part.again] += part.deposits
    return spent[False], spent[True]
