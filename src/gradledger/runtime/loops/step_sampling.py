"""Audits some steps instead of all."""

from __future__ import annotations

from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.optimizers.optimizers import Optimizers, RunningStep

FIRST = 100
"""Steps that are audited in any case: most faults show at once."""


class Sampling:
    """Falls asleep right after a step, and wakes right after another of the same optimizer.

    At both moments the books stand at the same point of the cycle, so the gap between is none.
    """

    def __init__(self, journal: Journal, optimizers: Optimizers, every: int) -> None:
        self.journal = journal
        self.every = every
        self._sleeper = 0
        self._slept = 0
        self._filled: list[bool] = []
        """Which cells held something when it fell asleep."""
        optimizers.stepped.append(self._stepped)
        journal.sleeper = self._unwatched_step
        self._optimizers = optimizers

    def _stepped(self, step: RunningStep) -> None:
        if self._optimizers.steps < FIRST or self.journal.work.depth:
            return
        if self._sleeper and id(step.optimizer) != self._sleeper:
            return  # let the others have their turn first
        self._sleeper, self._slept = id(step.optimizer), 0
        self._filled = self._look()
        self.journal.asleep = True

    def _unwatched_step(self, optimizer: object) -> None:
        if id(optimizer) == self._sleeper:
            self._slept += 1
            if self._slept >= self.every - 1:
                self._wake()

    @unfailing
    def _wake(self) -> None:
        # Elsewhere in the cycle than before, it sleeps on: what it missed would look like faults.
        alone = self._optimizers.backwards.walks.alone
        if alone and not self.journal.closed and self._look() == self._filled:
            self.journal.asleep = False
            self.journal.cells.seen[:] = self.journal.cells.look()

    def _look(self) -> list[bool]:
        return [state is not None for state in self.journal.cells.look()]
