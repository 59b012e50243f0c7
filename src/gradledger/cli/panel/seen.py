"""What has happened so far: noted by the thread that trains, read by the one that paints.

The first must lose no time, and neither may wait for the other. So notes are single assignments,
and all that takes thought is left to the reader: a page of the book is frozen, and can be read at
leisure.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from gradledger.cli.panel.course import Course
from gradledger.cli.panel.facts import Facts, Lane
from gradledger.ledger.book import Book
from gradledger.ledger.events import Event, Skipped, Step
from gradledger.ledger.findings import Finding, one_per_fault
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place
from gradledger.rules import YIELDS_TO
from gradledger.rules.ordering import ordered

if TYPE_CHECKING:
    from gradledger.runtime.outputs.measurements import Measured

NORM = "gradient norm"
STRETCH = 10.0
"""Seconds over which a speed is measured: shorter, and it flutters."""
MOST_WAITING = 10_000
"""Norms that wait for the painter. It may be stopped for hours, and comes for the latest."""


class Notes:
    """Written where the training runs."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.steps: dict[str, int] = {}
        self.skipped: dict[str, int] = {}
        self.before: dict[str, Page] = {}
        """The page before each optimizer's latest step: it shows what that step spent."""
        self.found: dict[tuple[str, Place], Finding] = {}
        self.norms: deque[tuple[str, float]] = deque(maxlen=MOST_WAITING)

    def foresee(self, event: Event) -> None:
        """An event is about to be entered."""
        if type(event) is Step:
            name = event.optimizer
            self.steps[name] = self.steps.get(name, 0) + (not event.within)
            self.before[name] = self.book.page
        elif type(event) is Skipped:
            self.skipped[event.optimizer] = self.skipped.get(event.optimizer, 0) + 1

    def hear(self, event: Event, findings: tuple[Finding, ...]) -> None:
        """An event was entered, and added to these findings."""
        for finding in findings:
            self.found[finding.rule, finding.at] = finding

    def measured(self, told: Measured) -> None:
        """A number of a step was read."""
        if told.name == NORM and told.total is not None:
            self.norms.append((told.optimizer, told.total))


class Seen:
    """Read where the panel is painted."""

    def __init__(self, notes: Notes, subject: str, *, kept: frozenset[str], every: int = 1) -> None:
        self._notes = notes
        self._subject = subject
        self._kept = kept
        self._every = every
        self._started = time.monotonic()
        self._norms: dict[str, Course] = {}
        self._paces: dict[str, deque[tuple[float, int]]] = {}

    def facts(self, names: dict[str, str], *, unseen: bool = False, trouble: bool = False) -> Facts:
        """All that the panel shows, as of now. `names`: what the program calls its optimizers."""
        now, page = time.monotonic(), self._notes.book.page
        self._take_norms()
        optimizers = [account.name for account in page.accounts]
        optimizers += [name for name in self._notes.steps.copy() if name not in optimizers]
        lanes = [self._lane(name, names.get(name, name), page, now) for name in optimizers]
        found = one_per_fault(self._notes.found.copy().values(), YIELDS_TO)
        return Facts(
            self._subject,
            now - self._started,
            tuple(lanes),
            tuple(ordered(finding for finding in found if finding.rule in self._kept)),
            every=self._every,
            unseen=unseen,
            trouble=trouble,
        )

    def _lane(self, name: str, called: str, page: Page, now: float) -> Lane:
        notes = self._notes
        steps = notes.steps.get(name, 0)
        pace = self._paces.setdefault(name, deque())
        pace.append((now, steps))
        while len(pace) > 2 and pace[1][0] < now - STRETCH:
            pace.popleft()
        seconds = now - pace[0][0]
        before, norms = notes.before.get(name), self._norms.get(name)
        return Lane(
            called,
            steps,
            per_second=(steps - pace[0][1]) / seconds if seconds >= 1 else None,
            window=None if before is None else deposits(before, name),
            gathered=deposits(page, name),
            skipped=notes.skipped.get(name, 0),
            norm=None if norms is None else norms.latest,
            course=() if norms is None else norms.points,
        )

    def _take_norms(self) -> None:
        while self._notes.norms:
            optimizer, value = self._notes.norms.popleft()
            self._norms.setdefault(optimizer, Course()).add(value)


def deposits(page: Page, optimizer: str) -> int:
    """How many deposits the optimizer's next step would spend for the first time.

    Its cells may differ. Of a window, all is said by the one that has most.
    """
    cells = (cell for _, cell in page.owned_by(optimizer))
    return max((sum(h.count for h in cell.fresh) for cell in cells), default=0)
