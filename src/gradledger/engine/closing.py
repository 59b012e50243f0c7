"""The end of a window: its sums are spent, skipped or dropped, and that is counted."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Protocol

from gradledger.engine.interrupts import HeldBack
from gradledger.engine.parts import Parts
from gradledger.engine.places import outside
from gradledger.engine.skips import Skip
from gradledger.engine.spending import Closure, Spending
from gradledger.engine.together import with_ranks
from gradledger.errors import NonFiniteGradient, StepperWarning
from gradledger.ledger.announcing import listeners


class Closures(Protocol):
    """Who can compute the gradient of the open window again."""

    def closure(self) -> Closure:
        """Does so, and gives the loss."""

    def forget(self) -> None:
        """The window is over."""


class Closing:
    """Ends windows, and knows how they have ended."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._window = parts.window
        self._sums = parts.sums
        self._scaling = parts.scaling
        self._ownership = parts.ownership
        self._packing = parts.packing
        self._telling = parts.telling
        self._meetings = parts.meetings
        self.spending = Spending(parts)
        self.closures: Closures | None = None
        """For an optimizer that evaluates the loss itself."""
        self.updates = 0
        self.skipped = 0
        self.dropped = 0
        self.last_skip: Skip | None = None

    def close(self) -> bool:
        """Spends what the window holds. Whether an update was made."""
        window = self._window
        if window.dropped:
            self.dropped += 1
            self._telling.skipped(p for p, _ in self._sums.each())
        if not window.open:
            self.forget()
            return False
        # An optimizer that evaluates the loss can be interrupted: what it did is taken back.
        with HeldBack() if self.closures is None else nullcontext():
            try:
                skip = self._spend()
            finally:
                self.forget()
            if skip is None:
                self.count_update()
        if skip is not None:
            self._tell(skip if self._meetings is None else with_ranks(skip, self._meetings))
        return skip is None

    def _spend(self) -> Skip | None:
        if self._ownership.changed():
            self._sums.settle_all()
        held = [p for p, _ in self._sums.each()] if listeners else []
        if listeners:
            factor = 1.0 / (self._window.weight * self._scaling.unit)
            self._telling.spends(self._sums.each(), factor)
        closure = None if self.closures is None else self.closures.closure()
        skip = self.spending.spend(self._parts.device, self.updates, closure)
        if listeners and skip is None:
            self._telling.spent(held, 1.0 / self._window.weight)
        elif listeners:
            self._telling.skipped(held)
        return skip

    def count_update(self) -> None:
        """An update was made."""
        self.updates += 1
        for scheduler in self._parts.schedulers:
            scheduler.step()
        self._telling.scheduled(self._parts.schedulers)
        if self._packing.stale:
            self._packing.build()

    def forget(self) -> None:
        """Empties the window."""
        self._window.restart()
        self._sums.forget()
        self._scaling.forget()
        if self.closures is not None:
            self.closures.forget()

    def drop(self) -> None:
        """Gives up what the window holds; on many ranks, all of it, when it ends."""
        if self._meetings is not None:
            self._ownership.clear()
            self._window.dropped = self._window.begun > 0
            if self._window.turn is not None:
                self._window.turn.given_up = True
            return
        if self._window.open:
            self.dropped += 1
            self._telling.skipped(p for p, _ in self._sums.each())
        self._ownership.clear()
        if self._window.turn is not None:
            self._window.turn.complete, self._window.turn.pending = True, False
        self.forget()

    def _tell(self, skip: Skip) -> None:
        self.skipped += 1
        self.last_skip = skip
        if self._parts.options.on_nonfinite == "raise":
            raise NonFiniteGradient(f"No update was made: {skip}.")
        # A scaler makes some of these on its way; without one, each is news, but not each of many.
        if not skip.scaler and self.skipped & (self.skipped - 1) == 0:
            warnings.warn(
                f"No update was made: {skip}. {self.skipped} so far; told at 1, 2, 4, 8, …",
                StepperWarning,
                stacklevel=outside(),
            )
