"""What an event does to a page, worked out once for each pair.

A training loop goes round through the same few pages, and so do the paths of a program: most of
what is asked here has been asked before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gradledger.ledger.events import Event
from gradledger.ledger.findings import Breach
from gradledger.ledger.page import Page
from gradledger.ledger.posting import post
from gradledger.ledger.tally import NOTHING, Tally, entries_of
from gradledger.ledger.tuples import NamedTuple

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
