"""Turns events into the marks of a timeline."""

from __future__ import annotations

from gradledger.ledger.events import (
    Backward,
    CellNames,
    Clear,
    Clip,
    Edit,
    EpochEnd,
    Event,
    Fault,
    RunEnd,
    Schedule,
    Skipped,
    Step,
    Sync,
    Unscale,
    Update,
)
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place
from gradledger.report.chronicle.numbering import Numbered
from gradledger.report.chronicle.story import NOBODY, Mark

_KINDS: dict[type[Event], str] = {
    Backward: "deposit",
    Edit: "edit",
    Clear: "clear",
    Sync: "sync",
    Unscale: "unscale",
    Step: "spend",
    Skipped: "skip",
    Schedule: "schedule",
    Update: "update",
    Fault: "fault",
    EpochEnd: "epoch",
    RunEnd: "end",
}


class Marker:
    """Makes marks; keeps track of which optimizer owns which cells."""

    def __init__(self, lanes: Numbered[str], sites: Numbered[Place]) -> None:
        self._lanes = lanes
        self._sites = sites

    def mark(self, event: Event, page: Page) -> Mark | None:
        """The mark of an event, given the page before it; None if the timeline doesn't show it."""
        kind = _KINDS.get(type(event))
        lanes: tuple[int, ...] = ()
        match event:
            case Clip():
                kind = "clip" if event.changes else "norm"
                lanes = self._lanes_of(event.cells, page)
            case Backward() | Edit() | Clear() | Sync():
                lanes = self._lanes_of(event.cells, page)
            case Unscale() | Step() | Skipped() | Schedule():
                lanes = (self._lanes(event.optimizer),)
        return None if kind is None else Mark(kind, lanes, self._sites(event.at))

    def _lanes_of(self, cells: CellNames, page: Page) -> tuple[int, ...]:
        owners: set[str] = set()
        for part, cell in page.among(cells):
            owners |= cell.owners or {NOBODY}
            cells -= part
        if cells:  # which the book has never seen
            owners.add(NOBODY)
        return tuple(sorted(map(self._lanes, sorted(owners))))
