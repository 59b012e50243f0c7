"""What an event does to a page, worked out once for each pair.

A training loop goes round through the same few pages, and so do the paths of a program: most of
these questions come up again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gradledger.ledger.cells import Cell
from gradledger.ledger.events import Backward, Clear, Edit, Event, Gone, Skipped, Step
from gradledger.ledger.findings import Breach
from gradledger.ledger.page import Page
from gradledger.ledger.posting import post
from gradledger.ledger.tuples import NamedTuple


class Tally(NamedTuple):
    """Every entry is spent at last, or lost, or wasted, or still there."""

    steps: int = 0
    skipped_steps: int = 0
    backwards: int = 0
    entries: int = 0
    spent: int = 0
    """Entries spent for the first time."""
    respent: int = 0
    """Entries spent again, each time counted."""
    lost: int = 0
    """Entries that ended although no part of their backward was spent or read."""
    wasted: int = 0
    """Entries that ended unspent, while their backward was of use elsewhere."""

    def plus(self, other: Tally) -> Tally:
        """The sum, field by field."""
        return Tally(*map(int.__add__, self, other))


NOTHING = Tally()


def entries_of(event: Event, page: Page) -> Tally:
    """What this event adds to the counts, on the page before it."""
    match event:
        case Backward():
            # More of a pass of which a hook has used a part is not another pass.
            return Tally(backwards=int(not event.continues), entries=len(event.cells))
        case Step():
            spent = sum(_count(names, cell, fresh=True) for names, cell in page.spent_by(event))
            again = sum(_count(names, cell, fresh=False) for names, cell in page.spent_by(event))
            counts = not (event.within or event.left_to_others)
            return Tally(steps=int(counts), spent=spent, respent=again)
        case Skipped():
            return Tally(skipped_steps=1)
        case Clear():
            return _ended(event, page)
        case Gone():
            # What a parameter holds when it dies was left there, and never cleared.
            return _ended(event, page)._replace(lost=0)
        case Edit(kind="assign"):
            return _ended(event, page)._replace(entries=len(event.cells))
        case Edit():
            among = page.among(event.cells)
            return Tally(entries=sum(_made_by(event, names, cell) for names, cell in among))
        case _:
            return NOTHING


def _made_by(edit: Edit, names: frozenset[str], cell: Cell) -> int:
    """What is written over zeros is a deposit, and so are spent gradients that are worked on."""
    if edit.kind == "change" and cell.is_zeros:
        return len(names)
    return 0 if cell.fresh else _count(names, cell, fresh=False)


def _ended(event: Clear | Edit | Gone, page: Page) -> Tally:
    lost = wasted = 0
    for names, cell in page.among(event.cells):
        used = sum(h.count for h in cell.fresh if h.spent_by or h.read)
        wasted += used * len(names)
        lost += _count(names, cell, fresh=True) - used * len(names)
    return Tally(lost=lost, wasted=wasted)


def _count(names: frozenset[str], cell: Cell, *, fresh: bool) -> int:
    return len(names) * sum(h.count for h in cell.holdings if h.fresh == fresh)


Judge = Callable[[Page, Event], Iterable[tuple[str, Breach]]]
"""Asks every rule about an event that is about to happen; answers with rule code and breach."""


def no_rules(page: Page, event: Event) -> Iterable[tuple[str, Breach]]:
    """Judges nothing: for books that only count."""
    return ()


class Outcome(NamedTuple):
    """The next page, the rules that are broken on the way, and what there is to count."""

    page: Page
    breaches: tuple[tuple[str, Breach], ...]
    tally: Tally


class Outcomes:
    """Answers from memory where it can; what never repeats does not fill that for ever."""

    def __init__(self, judge: Judge, *, most: int = 100_000, counts: bool = True) -> None:
        self._judge = judge
        self._most = most
        self._counts = counts
        self._known: dict[tuple[Page, Event], Outcome] = {}
        self._pages: dict[Page, Page] = {}
        """Equal pages are one object, so that to look one up is not to compare it."""

    def of(self, page: Page, event: Event) -> Outcome:
        """The outcome of this event on this page."""
        known = self._known.get((page, event))
        if known is None:
            if len(self._known) >= self._most:
                self._known.clear()
                self._pages.clear()
            page = self._pages.setdefault(page, page)
            after = post(event, page)
            known = Outcome(
                self._pages.setdefault(after, after),
                tuple(self._judge(page, event)),
                entries_of(event, page) if self._counts else NOTHING,
            )
            self._known[page, event] = known
        return known

    def __len__(self) -> int:
        return len(self._known)
