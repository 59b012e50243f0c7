"""What a step spends and what becomes of deposits, from the ledger's page before the event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from gradledger.ledger.cells import Cell
from gradledger.ledger.events import Clear, Edit, Event, Gone, Step
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place


class Spent(NamedTuple):
    """The deposits of one call site that a step spends."""

    at: Place
    deposits: int
    again: bool
    parameters: int


class Ended(NamedTuple):
    """Entries of one call site whose fate an event decides."""

    at: Place
    owner: str | None
    fate: str
    entries: int


def spent(step: Step, page: Page) -> tuple[Spent, ...]:
    """The deposits by call site, the new ones first, in order of arrival.

    Cells with different histories hold different numbers of them: the largest counts.
    """
    counts: dict[tuple[bool, Place], int] = {}
    parameters: Counter[tuple[bool, Place]] = Counter()
    for names, cell in page.spent_by(step):
        held: Counter[tuple[bool, Place]] = Counter()
        for holding in cell.holdings:
            held[not holding.fresh, holding.at] += holding.count
        for key, count in held.items():
            counts[key] = max(count, counts.get(key, 0))
            parameters[key] += len(names)
    found = [Spent(at, n, again, parameters[again, at]) for (again, at), n in counts.items()]
    return tuple(sorted(found, key=lambda one: one.again))


def ended(event: Event, page: Page) -> Iterator[Ended]:
    """What the event decides: entries spent, spent again, cleared unspent, or left when deleted."""
    match event:
        case Step():
            for names, cell in page.spent_by(event):
                for holding in cell.holdings:
                    fate = "spent" if holding.fresh else "spent again"
                    yield Ended(holding.at, event.optimizer, fate, len(names) * holding.count)
        case Clear() | Gone() | Edit(kind="assign"):
            fate = "left over" if isinstance(event, Gone) else "cleared"
            for names, cell in page.among(event.cells):
                yield from _unspent(len(names), cell, fate)


def left_over(page: Page) -> Iterator[Ended]:
    """Deposits that are neither spent nor cleared when the run ends."""
    for names, cell in page.groups:
        yield from _unspent(len(names), cell, "left over")


def _unspent(cells: int, cell: Cell, fate: str) -> Iterator[Ended]:
    owner = min(cell.owners, default=None)
    for holding in cell.fresh:
        yield Ended(holding.at, owner, fate, cells * holding.count)
