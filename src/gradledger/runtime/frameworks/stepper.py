"""Receives the events that a Stepper announces, and ignores torch's own calls meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import cast

from torch import Tensor
from torch.optim import Optimizer

from gradledger.ledger.announcing import Role, listening
from gradledger.ledger.events import CellNames, Event
from gradledger.ledger.places import Place
from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Patches
from gradledger.runtime.optimizers.optimizers import Optimizers
from gradledger.runtime.outputs.measurements import Measuring


class Steppers:
    """Writes what is announced, and nothing of what is seen meanwhile."""

    def __init__(
        self, journal: Journal, optimizers: Optimizers, measuring: Measuring | None
    ) -> None:
        self.journal = journal
        self._optimizers = optimizers
        self._measuring = measuring

    def watch(self, patches: Patches) -> None:
        """Listen until the patches are closed."""
        patches.enter_context(listening(self))

    @contextmanager
    def looking_away(self) -> Iterator[None]:
        """Everything that watchers report inside is passed over."""
        journal = self.journal
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
        return self.journal.places.here()

    def cells(self, parameters: Iterable[object]) -> CellNames:
        leaves = list(cast(Iterable[Tensor], parameters))
        self._aloud(lambda: self.journal.meet(leaves, self.here()))
        return self.journal.cells.named(leaves)

    def name(self, role: Role, player: object) -> str:
        if isinstance(player, Optimizer):
            self._aloud(lambda: self._know(player))
        return self.journal.name(role, player)

    def _know(self, optimizer: Optimizer) -> None:
        known = self._optimizers.known(optimizer)
        if known.spelled is None:
            self._optimizers.spell(known, optimizer)

    def hear(self, event: Event) -> None:
        self._aloud(lambda: self.journal.post(event))

    @property
    def measures(self) -> bool:
        return self._measuring is not None and not self.journal.asleep

    @unfailing
    def spends(self, optimizer: object, gradients: Mapping[object, object], factor: float) -> None:
        assert self._measuring is not None
        self.cells(gradients)
        # By its name alone: what it owns may be out of its hands just now.
        name = self.journal.name("optimizer", optimizer)
        leaves = cast(Mapping[Tensor, Tensor], gradients)
        self._measuring.spends(name, cast(Optimizer, optimizer), leaves, factor)

    @unfailing
    def loss(self, value: object, items: float) -> None:
        assert self._measuring is not None
        self._measuring.losses.announced(cast("Tensor | float | None", value), items)

    def _aloud(self, tell: object) -> None:
        work = self.journal.work
        work.hushed = False
        try:
            tell()  # type: ignore[operator]
        finally:
            work.hushed = True
