"""An optimizer as a track: windows as boxes, and what happened in them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from gradledger.report.chronicle import Used, Window
from gradledger.report.counts import counted
from gradledger.report.perfetto.events import Details, Event, Track


class Deposit:
    """A backward pass put something into the cells of this optimizer."""

    __slots__ = ("ns", "site", "spent")

    def __init__(self, ns: int, site: int) -> None:
        self.ns, self.site, self.spent = ns, site, False


Recent = dict[int, deque[Deposit]]
"""For each call site, what was deposited last."""


class OfLane:
    """Takes marks in order, and has the events of whole windows.

    A box has to come before what it holds: the viewer nests what begins at the same moment in the
    order in which it reads it. So marks wait for the end of their window.
    """

    def __init__(self, track: Track, *, longest: int, owned: bool, elsewhere: Recent) -> None:
        self.track = track
        self._longest = longest
        """No window holds more deposits of one call site."""
        self._owned = owned
        """Else no step ends a window here, and none is waited for."""
        self._recent: Recent = {}
        self._elsewhere = elsewhere
        """The deposits of all lanes: code that updates by hand spends those of optimizers."""
        self._open: list[Deposit] = []
        """Those since the last window."""
        self._edited = False
        """By hand, since the last window."""
        self._cleared = 0
        self._waiting: list[Event] = []
        self._end = 0
        """Where the last box ended."""

    def noted(self, event: Event) -> Sequence[Event]:
        """Something happened; what can be written now."""
        self._waiting.append(event)
        return () if self._open or self._edited else self._flushed()

    def deposit(self, ns: int, site: int) -> None:
        """A deposit was made."""
        made = self._remembered(ns, site)
        if self._owned:
            self._open.append(made)

    def edit(self, ns: int, site: int) -> None:
        """Gradients were changed by hand, which may be a deposit: the next window tells."""
        self._remembered(ns, site)
        self._edited = True

    def clear(self, ns: int) -> None:
        """Cells were cleared, all or some of them: the next window tells."""
        if self._open:
            self._cleared = ns

    def spend(self, ns: int, window: Window, details: Details) -> Iterator[Event]:
        """A step ended the window."""
        spent = [made for used in window.used if not used.again for made in self._used(used)]
        for made in spent:
            made.spent = True
        begin = min((made.ns for made in spent), default=ns)
        yield from self._unspent(begin)
        if spent:
            name = f"window of {counted(window.deposits, 'deposit')}"
            yield self._box(name, begin, ns, details)
            self._open.clear()
            self._cleared = 0
            self._edited = False
        else:
            instant = self.track.instant("step with nothing new to spend", ns, details)
            self._waiting.append(instant)
        if not (self._open or self._edited):
            yield from self._flushed()

    def ends(self, ns: int) -> Iterator[Event]:
        """Nothing more comes."""
        yield from self._unspent(ns)
        if left := [made for made in self._open if not made.spent]:
            name = f"{counted(len(left), 'deposit')}, left over"
            yield self._box(name, left[0].ns, ns, {})
        yield from self._flushed()

    def _unspent(self, until: int) -> Iterator[Event]:
        """What was cleared before the window began."""
        lost = [made for made in self._open if not made.spent and made.ns < self._cleared]
        if lost and lost[0].ns < until:
            name = f"{counted(len(lost), 'deposit')}, cleared unspent"
            yield self._box(name, lost[0].ns, min(self._cleared, until), {})
            self._open = [made for made in self._open if made.ns >= self._cleared]
        self._cleared = 0

    def _remembered(self, ns: int, site: int) -> Deposit:
        made = Deposit(ns, site)
        for recent in (self._recent, self._elsewhere):
            recent.setdefault(site, deque(maxlen=self._longest)).append(made)
        return made

    def _used(self, used: Used) -> Sequence[Deposit]:
        found = self._recent.get(used.site) or self._elsewhere.get(used.site) or ()
        return tuple(found)[-used.deposits :]

    def _box(self, name: str, begin: int, end: int, details: Details) -> Event:
        # Where steps spend a part of the cells each, windows overlap; boxes of a track may not.
        begin = max(begin, self._end)
        self._end = max(end, begin)
        return self.track.slice(name, begin, self._end, details)

    def _flushed(self) -> Sequence[Event]:
        waiting, self._waiting = self._waiting, []
        return waiting
