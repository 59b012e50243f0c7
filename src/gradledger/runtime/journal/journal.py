"""The journal: takes what watchers see, in the order in which it happened, into the book."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from gradledger.ledger.book import Book
from gradledger.ledger.events import Declare, Event, Gone, Traits
from gradledger.ledger.findings import Finding
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place
from gradledger.ledger.unseen import Unseen
from gradledger.runtime.journal.cells import Cells, Slots, traits
from gradledger.runtime.journal.device_queries import DeviceQueries
from gradledger.runtime.journal.object_names import ObjectNames
from gradledger.runtime.journal.unseen_counts import UnseenCounts
from gradledger.runtime.program.places import Places

E = TypeVar("E", bound=Event)

MOST_EVENTS = 50_000
"""Different events that are remembered, to be used again when they happen again."""


class Work:
    """What one thread is doing."""

    __slots__ = ("depth", "fetching", "hushed", "scaler", "stepping", "steps")

    def __init__(self) -> None:
        self.depth = 0
        """Watched calls that are running: what they do to gradients is not done by hand."""
        self.hushed = False
        """A caller reports its events itself: what is seen of them besides isn't new."""
        self.fetching = 0
        """Loaders that are being asked: one may draw from another."""
        self.stepping: list[Any] = []
        """The calls of `step` that run, the innermost last."""
        self.scaler: str | None = None
        """The scaler whose `step` is running."""
        self.steps = 0
        """Steps that happened."""


class _Thread(threading.local):
    """The thread that asks. It is slow to ask, so its work is one object, asked for once a call."""

    def __init__(self) -> None:
        self.work = Work()


class Journal:
    """What all watchers share."""

    def __init__(self, book: Book, places: Places) -> None:
        self.book = book
        self.places = places
        self._spots = places.spots
        self.cells = Cells(places)
        self.roles = ObjectNames()
        self.thread = _Thread()
        self.asleep = False
        """Nothing is audited: between two samples, in a forked child, or after the end."""
        self.sleeper: Callable[[object], None] = lambda optimizer: None
        """Called with each optimizer that steps meanwhile."""
        self.closed = False
        """It will not wake again."""
        self.failure: Exception | None = None
        """The bug that ended the audit."""
        self.failed: list[Callable[[Exception], None]] = []
        """Told of it."""
        self.overlooked = UnseenCounts()
        self.unsettled = False
        """Something waits to be told before whatever comes next."""
        self.left_open = False
        """Another thread may be using gradients that couldn't be looked at."""
        self.settlers: list[Callable[[Place], None]] = []
        self._before: dict[type[Event], list[Callable[[Event], None]]] = {}
        """Called with each event of a kind just before it is entered."""
        self.heard: list[Callable[[Event, tuple[Finding, ...]], None]] = []
        """Told of each event, and of the findings that it added to."""
        self.waits: frozenset[str] = frozenset()
        """Rules whose findings wait: what comes later may settle them."""
        self._waiting: dict[tuple[str, Place], Finding] = {}
        self.imported: list[Callable[[], None]] = []
        """Told when modules were imported."""
        self.met: list[Callable[[list[int]], None]] = []
        """Told of the slots of leaves that are new."""
        self.concerned: list[Callable[[Iterable[int], Place], None]] = []
        """Told what a call is about to use, where several threads train: no other has that in its
        hands, or the program would be at fault."""
        self.frameworks: dict[Place, str] = {}
        """Places of passes that a framework makes or divides: which one."""
        self.owned: set[int] = set()
        """Slots that some optimizer holds."""
        self.buried: list[Callable[[list[int]], None]] = [self.owned.difference_update]
        """Told of slots whose leaf has died: another may have them next."""
        self.later = DeviceQueries()
        """Values that devices are still computing."""
        self.told_late: list[Callable[[Event, tuple[Finding, ...]], None]] = []
        """Told of findings about events of before."""
        self.let_go: list[Callable[[], None]] = [self.cells.let_go]
        """Called at the end: no reference to a tensor is left behind, not even a weak one."""
        self._died, self._gone = self.cells.died, self.roles.gone
        self.parameters = 0
        """How many parameters optimizers have held, all together."""
        self._settling = False
        self._modules = 0
        self._events: dict[tuple[Any, ...], Event] = {}
        self._traits: dict[str, Traits] = {}
        self.entering = threading.RLock()
        self.number = next(_numbers)
        """No other audit of this process has it."""
        journals.add(self)

    # Arriving

    def arrive(self, frame: FrameType | None = None, *, outside: object = None) -> Place:
        """A watched call begins: where it is, after all that happened before it is told.

        Who has the frame of its caller at hand gives it: to look from there is quicker.
        """
        at = self.places.here(frame or sys._getframe(1), outside=outside)
        if self.unsettled or len(sys.modules) != self._modules:
            self._catch_up(at)
        return at

    def arrive_at(self, frame: FrameType) -> Place:
        """The same for calls that come in every step, nearly always from a spot that is known."""
        spot = self._spots.get((id(frame.f_code), frame.f_lasti))
        if spot is None:
            return self.arrive(frame)
        at = self.places.last = spot[0]
        if self.unsettled or len(sys.modules) != self._modules:
            self._catch_up(at)
        return at

    def _catch_up(self, at: Place) -> None:
        if len(sys.modules) != self._modules:
            with self.entering:
                self._modules = len(sys.modules)
                for notice in self.imported:
                    notice()
        if self.unsettled and not self.thread.work.depth:
            with self.entering:
                self.settle(at)

    # Writing

    def post(self, event: Event) -> None:
        """Enter an event, after all that happened before it."""
        if self.asleep or self.thread.work.hushed:
            return
        with self.entering:
            self.enter(event)

    def enter(self, event: Event) -> None:
        """The same for who holds the lock, and has asked whether anybody listens."""
        if self.unsettled or self._died or self._gone:
            self.settle(event.at)
        if listeners := self._before.get(type(event)):
            for listener in listeners:
                listener(event)
        findings = self.book.post(event)
        if findings or self._waiting:
            findings = self._ripe(findings)
        if self.heard:
            for hear in self.heard:
                hear(event, findings)

    def call_before(self, kinds: Iterable[type[Event]], listener: Callable[[Event], None]) -> None:
        """Call it with each event of these kinds, just before the event is entered."""
        for kind in kinds:
            self._before.setdefault(kind, []).append(listener)

    def judge_late(self, page: Page, event: Event, rule: str) -> None:
        """What a device has told by now makes an event of before a fault."""
        with self.entering:
            findings = self.book.judge_late(page, event, rule)
            for hear in self.told_late if findings else ():
                hear(event, findings)

    def _ripe(self, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """Those that can be told now, and of those that have waited all that need not any more."""
        told = {(finding.rule, finding.at): finding for finding in findings}
        told = self._waiting | told
        self._waiting = {key: one for key, one in told.items() if one.rule in self.waits}
        return tuple(one for key, one in told.items() if key not in self._waiting)

    def excuse(self, rules: frozenset[str]) -> None:
        """What has been found of these so far was no fault, as is known by now."""
        with self.entering:
            self._waiting = {k: one for k, one in self._waiting.items() if one.rule not in rules}
            self.book.forget(rules)

    @property
    def waiting(self) -> tuple[Finding, ...]:
        """What was found and has not been told."""
        return tuple(self._waiting.values())

    def concerns(self, slots: Iterable[int], at: Place) -> None:
        """A call is about to use these, and several threads train."""
        with self.entering:
            for hear in self.concerned:
                hear(slots, at)

    def made(self, kind: type[E], at: Place, *fields: Any) -> E:
        """The event with these fields; the same one, if it happened before."""
        # The place by its identity, which is quick; the event keeps it alive.
        key = kind, id(at), fields
        known = self._events.get(key)
        if known is None:
            if len(self._events) >= MOST_EVENTS:
                self._events.clear()
            known = self._events[key] = kind(at, *fields)
        return known  # type: ignore[return-value]

    def settle(self, at: Place) -> None:
        """Tell what has happened by itself: tensors died, code worked on gradients by hand."""
        if self._settling:
            return
        self.unsettled, self._settling = False, True
        try:
            for settler in self.settlers:
                settler(at)
        finally:
            self._settling = False
        slots, cells = self.cells.bury()
        for forget in self.buried:
            forget(slots)
        optimizers = self.roles.bury("optimizer")
        if cells or optimizers:
            for name in cells:
                self._traits.pop(name, None)
            self.post(self.made(Gone, at, cells, optimizers))

    def fail(self, error: Exception) -> None:
        """We have a bug: say so at the end, and stay out of the program's way until then."""
        self.asleep = self.closed = True
        if self.failure is None:
            self.failure = error
            for hear in self.failed:
                hear(error)

    def not_seen(self, what: str, why: str, *, count: int = 1, names: Iterable[str] = ()) -> None:
        """Something happened that no watcher could see: the verdict says so.

        `what` is one of `ledger.unseen.KINDS`. Named things count once, however often they come.
        """
        with self.entering:
            self.overlooked.add(what, why, count, names)

    @property
    def unseen(self) -> tuple[Unseen, ...]:
        """All that went unseen so far."""
        return self.overlooked.all

    # Working

    @property
    def work(self) -> Work:
        """What the thread that asks is doing."""
        return self.thread.work

    @contextmanager
    def call(self) -> Iterator[None]:
        """A watched call runs inside."""
        work = self.work
        work.depth += 1
        try:
            yield
        finally:
            work.depth -= 1

    @contextmanager
    def script_at_work(self) -> Iterator[None]:
        """The watched call has called back: the program's own code runs inside (a closure)."""
        work = self.work
        before, work.depth = work.depth, 0
        try:
            yield
        finally:
            work.depth = before

    # Who is who

    def meet(self, leaves: Any, at: Place) -> None:
        """Take leaves into the books, and tell what they are."""
        with self.entering:
            if self._died or self._gone:
                self.settle(at)
            if new := self.cells.meet(leaves):
                self.declare(at, new)
                for hear in self.met:
                    hear(new)

    def own(self, slots: Slots) -> None:
        """Some optimizer holds the leaves in these slots."""
        self.parameters += len(set(slots) - self.owned)
        self.owned.update(slots)

    def declare(self, at: Place, slots: Any) -> None:
        """Tell what cells are, where that is new or has changed."""
        changed: dict[Traits, set[str]] = {}
        for slot in slots:
            leaf, name = self.cells.leaf(slot), self.cells.names[slot]
            if leaf is not None and self._traits.get(name) != (now := traits(leaf)):
                self._traits[name] = now
                changed.setdefault(now, set()).add(name)
        for now, names in changed.items():
            self.post(self.made(Declare, at, frozenset(names), now))

    def name(self, role: str, player: object) -> str:
        """What an optimizer, a scaler or a scheduler is called."""
        return self.roles.name(role, player)


journals: weakref.WeakSet[Journal] = weakref.WeakSet()
"""All that are being kept in this process."""
_numbers = itertools.count()


def _sleep_in_child() -> None:
    """A forked child trains for itself, if at all: the books are its parent's."""
    for journal in list(journals):
        journal.asleep = journal.closed = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_sleep_in_child)
