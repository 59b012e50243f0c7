"""Watches learning-rate schedulers."""

from __future__ import annotations

from typing import Any

from torch.optim.lr_scheduler import LRScheduler

from gradledger.ledger.events import Schedule
from tests.observer.journal import Journal
from tests.observer.optimizers import Optimizers
from tests.observer.patches import Function, Patches, definers
from tests.observer.scalers import inner


class Schedulers:
    """Writes a `Schedule` for each step that the script asks for."""

    def __init__(self, journal: Journal, optimizers: Optimizers) -> None:
        self.journal = journal
        self.optimizers = optimizers
        self._depth = 0

    def watch(self, patches: Patches) -> None:
        """Observe all schedulers until the patches are closed."""
        for method in ("step", "_initial_step"):
            for scheduler in definers(LRScheduler, method):
                patches.around(scheduler, method, self._around(told=method == "step"))

    def _around(self, *, told: bool) -> Function:
        def wrapper(real: Function) -> Function:
            def step(scheduler: LRScheduler, *args: Any, **kwargs: Any) -> Any:
                # A constructor steps, and schedulers made of others step those: not the script.
                self._depth += 1
                try:
                    result = real(scheduler, *args, **kwargs)
                finally:
                    self._depth -= 1
                if told and not self._depth:
                    name = self.journal.roles.name("scheduler", scheduler)
                    optimizer = self.optimizers.name(inner(scheduler.optimizer))
                    self.journal.post(Schedule(self.journal.here(), name, optimizer))
                return result

            return step

        return wrapper
