"""The journal: events in the order in which they happened, and what is needed to tell them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gradledger.ledger.events import (
    BY_HAND,
    Backward,
    CellNames,
    Clear,
    Declare,
    Edit,
    Event,
    Read,
    Step,
    Traits,
)
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from tests.observer.cells import Cells, Roles, traits
from tests.observer.places import Script
from tests.observer.sightings import ByHand, Sighting

Joinable = Clear | Step | Edit | Read


class Journal:
    """What the observer has written down so far.

    Every watcher writes here. Before an event is written, every known cell is looked at: whatever
    happened to one since the last look, and was no call that a watcher saw, was done by hand.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.cells = Cells(script)
        self.roles = Roles()
        self.events: list[Event] = []
        self.fresh: set[str] = set()
        """Cells with a deposit since their last step or clear."""
        self.last_place = Place(script.path, 1)
        self.at_work = False
        """A call that is watched is running: what it does to gradients is not done by hand."""
        self.hushed = False
        """Somebody tells what happens: what is seen of it besides is no news."""
        self.before_posting: list[Callable[[], None]] = []
        """What watchers have to tell before anything else happens."""
        self._seen: dict[str, Sighting] = {}
        self._traits: dict[str, Traits] = {}
        self._owners: dict[str, set[str]] = {}

    def here(self, *, outside: object = None) -> Place:
        """Where the script is now; where it was last, if none of its frames is running."""
        return self.script.here(outside=outside) or self.last_place

    # Writing

    def post(self, event: Event) -> None:
        """Write an event down, after all that happened before it."""
        if self.hushed:
            return
        self._catch_up(event.at)
        self._write(event)

    def post_joined(self, event: Joinable) -> None:
        """The same, but one event for a loop over parameters, not one for each."""
        if self.hushed:
            return
        self._catch_up(event.at)
        self._write_joined(event)

    def _catch_up(self, at: Place) -> None:
        if not self.at_work:
            self.notice()
        for tell in self.before_posting:
            tell()
        self._declare(at)

    @contextmanager
    def call(self, *, outside: object = None) -> Iterator[Place]:
        """A watched call runs inside; gives its place."""
        at = self.here(outside=outside)
        if not self.at_work:
            self.notice()
        before, self.at_work = self.at_work, True
        try:
            yield at
        finally:
            self.at_work = before
            self.look()

    @contextmanager
    def script_at_work(self) -> Iterator[None]:
        """The watched call has called back: the script's own code runs inside (a closure)."""
        self.look()
        before, self.at_work = self.at_work, False
        try:
            yield
        finally:
            self.notice()
            self.at_work = before

    def meet(self, names: CellNames, at: Place) -> None:
        """Look at cells for the first time, and tell what they are."""
        for name in names - self._seen.keys():
            self._seen[name] = Sighting.of(self.cells[name])
        self._declare(at)

    # Looking

    def seen(self, name: str) -> Sighting:
        """The last look at a cell."""
        return self._seen[name]

    def look(self) -> None:
        """Look at every cell, and take all that happened to it as told."""
        for name, leaf in self.cells:
            self._seen[name] = Sighting.of(leaf)

    def notice(self, at: Place | None = None) -> None:
        """Write down what was done by hand since the last look."""
        if self.hushed:
            return
        place = at or self.here()
        statement = self.script.text(place)
        for name, leaf in self.cells:
            if name in self._seen:
                done = self._seen[name].by_hand_since(leaf, statement)
                if done is not None:
                    self._write_by_hand(done, name, place)
                    self._seen[name] = Sighting.of(leaf)

    def _write_by_hand(self, done: ByHand, name: str, at: Place) -> None:
        self._declare(at)
        cells = frozenset({name})
        match done.kind:
            case "clear" | "zero":
                self._write_joined(Clear(at, cells, to_none=done.kind == "clear"))
            case "spend":
                self._write_joined(Step(at, BY_HAND, cells))
            case "assign" | "scale" | "change":
                self._write_joined(Edit(at, cells, done.kind, done.factor))

    def _write_joined(self, event: Joinable) -> None:
        last = self.events[-1] if self.events else None
        if isinstance(last, Joinable) and last.cells and event.cells:
            like = replace(last, cells=event.cells) == event
            # To look twice is to look once; to divide twice is not.
            if like and (isinstance(event, Read) or not last.cells & event.cells):
                self.events.pop()
                event = replace(event, cells=last.cells | event.cells)
        self._write(event)

    def _write(self, event: Event) -> None:
        self.events.append(event)
        match event:
            case Backward() | Edit(kind="assign"):
                self.fresh |= event.cells
            case Clear():
                self.fresh -= event.cells
            case Step():
                owned = self._owners.get(event.optimizer, set())
                self.fresh -= owned if event.cells is None else event.cells

    # Who is who

    def own(self, optimizer: str, cells: CellNames) -> None:
        """Remember what an optimizer holds."""
        self._owners.setdefault(optimizer, set()).update(cells)

    def _declare(self, at: Place) -> None:
        """Tell what cells are, where that is new or has changed."""
        changed: dict[Traits, set[str]] = {}
        for name, leaf in self.cells:
            now = traits(leaf)
            if self._traits.get(name) != now:
                self._traits[name] = now
                changed.setdefault(now, set()).add(name)
        for now, names in changed.items():
            self.events.append(Declare(at, frozenset(names), now))
