"""Watches learning-rate schedulers."""

from __future__ import annotations

import threading
from typing import Any

from torch.optim.lr_scheduler import LRScheduler

from gradledger.ledger.events import Schedule
from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Function, Patches, definers
from gradledger.runtime.optimizers.optimizers import Optimizers, inner


class Schedulers:
    """Writes a `Schedule` for each step that the program asks for."""

    def __init__(self, journal: Journal, optimizers: Optimizers) -> None:
        self.journal = journal
        self.optimizers = optimizers
        self._inside = threading.local()
        self.moved: list[Schedule] | None = None
        """While a framework moves a scheduler: what it moved, as often as it did."""

    def watch(self, patches: Patches) -> None:
        """Audit all schedulers until the patches are closed."""
        # A constructor steps, too, and that is not the program's doing.
        for method in ("step", "__init__"):
            for scheduler in definers(LRScheduler, method):
                patches.around(scheduler, method, self._around(told=method == "step"))

    def _around(self, *, told: bool) -> Function:
        def wrapper(real: Function) -> Function:
            def step(scheduler: LRScheduler, *args: Any, **kwargs: Any) -> Any:
                inside = self._inside
                depth = getattr(inside, "depth", 0)
                # Schedulers made of others step those: one is told.
                inside.depth = depth + 1
                try:
                    result = real(scheduler, *args, **kwargs)
                finally:
                    inside.depth = depth
                if not depth and not self.journal.asleep:
                    self._tell(scheduler) if told else self._made(scheduler)
                return result

            return step

        return wrapper

    @unfailing
    def _made(self, scheduler: LRScheduler) -> None:
        at = self.journal.places.here(outside=scheduler)
        self.journal.roles.name("scheduler", scheduler, at)

    @unfailing
    def _tell(self, scheduler: LRScheduler) -> None:
        journal, at = self.journal, self.journal.arrive()
        name = journal.name("scheduler", scheduler)
        if name not in self.optimizers.called:
            self.optimizers.call(name, scheduler)
        optimizer = self.optimizers.known(inner(scheduler.optimizer)).name
        event = journal.made(Schedule, at, name, optimizer)
        if self.moved is not None:
            self.moved.append(event)
            if len(self.moved) > 1:
                return
        journal.post(event)
