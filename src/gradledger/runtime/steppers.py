"""Hears what a Stepper tells, and looks away while it works."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import cast

from torch import Tensor
from torch.optim import Optimizer

from gradledger.ledger.announcing import Role, listening
from gradledger.ledger.events import CellNames, Event
from gradledger.ledger.places import Place
from gradledger.runtime.journal import Journal
from gradledger.runtime.optimizers import Optimizers
from gradledger.runtime.patches import Patches


class Steppers:
    """Writes what is announced, and nothing of what is seen meanwhile."""

    def __init__(self, journal: Journal, optimizers: Optimizers) -> None:
        self._journal = journal
        self._optimizers = optimizers

    def watch(self, patches: Patches) -> None:
        """Listen until the patches are closed."""
        patches.enter_context(listening(self))

    @contextmanager
    def looking_away(self) -> Iterator[None]:
        """Everything that watchers report inside is passed over."""
        journal = self._journal
        work = journal.work
        if not journal.asleep:
            journal.arrive()
        before, work.hushed = work.hushed, True
        work.depth += 1
        try:
            yield
        finally:
            work.depth -= 1
            work.hushed = before
            journal.cells.seen[:] = journal.cells.look()

    def here(self) -> Place:
        return self._journal.places.here()

    def cells(self, parameters: Iterable[object]) -> CellNames:
        leaves = list(cast(Iterable[Tensor], parameters))
        self._aloud(lambda: self._journal.meet(leaves, self.here()))
        return self._journal.cells.named(leaves)

    def name(self, role: Role, player: object) -> str:
        if isinstance(player, Optimizer):
            self._aloud(lambda: self._optimizers.known(player))
        return self._journal.name(role, player)

    def hear(self, event: Event) -> None:
        self._aloud(lambda: self._journal.post(event))

    def _aloud(self, tell: object) -> None:
        work = self._journal.work
        work.hushed = False
        try:
            tell()  # type: ignore[operator]
        finally:
            work.hushed = True
