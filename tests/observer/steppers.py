"""Hears what a Stepper tells, and looks away while it works."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import cast

from torch import Tensor

from gradledger.ledger.announcing import Role, listening
from gradledger.ledger.events import CellNames, Event
from gradledger.ledger.places import Place
from tests.observer.journal import Journal
from tests.observer.patches import Patches


class Steppers:
    """Writes what is announced, and nothing of what is seen meanwhile."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def watch(self, patches: Patches) -> None:
        """Listen until the patches are closed."""
        patches.enter_context(listening(self))

    @contextmanager
    def looking_away(self) -> Iterator[None]:
        """Everything that watchers report inside is passed over."""
        journal = self._journal
        with journal.call():
            before, journal.hushed = journal.hushed, True
            try:
                yield
            finally:
                journal.hushed = before

    def here(self) -> Place:
        return self._journal.here()

    def cells(self, parameters: Iterable[object]) -> CellNames:
        names = self._journal.cells.names(cast(Iterable[Tensor], parameters))
        self._journal.meet(names, self.here())
        return names

    def name(self, role: Role, player: object) -> str:
        return self._journal.roles.name(role, player)

    measures = False

    def loss(self, value: object, items: float) -> None:
        pass

    def spends(self, optimizer: object, gradients: Mapping[object, object], factor: float) -> None:
        """Never: it does not measure."""

    def hear(self, event: Event) -> None:
        journal = self._journal
        journal.hushed = False
        journal.post(event)
        journal.hushed = True
