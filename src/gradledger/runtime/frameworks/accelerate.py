"""Accelerate: what it does to losses and gradients between the program and torch."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from torch import Tensor

from gradledger.ledger.events import Schedule
from gradledger.ledger.values import replace
from gradledger.runtime.backward.backwards import Backwards
from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Function, Patches
from gradledger.runtime.loops.data_loaders import Loaders
from gradledger.runtime.losses import weights
from gradledger.runtime.losses.trainer_losses import divided_once_more
from gradledger.runtime.optimizers.schedulers import Schedulers
from gradledger.runtime.program.objects import attributes


class Accelerate:
    """Its `backward` divides the loss by the size of the window, its loaders read ahead, and its
    schedulers move once for each process."""

    def __init__(
        self, journal: Journal, backwards: Backwards, loaders: Loaders, schedulers: Schedulers
    ) -> None:
        self.journal = journal
        self.backwards = backwards
        self.loaders = loaders
        self.schedulers = schedulers
        self._watching = False

    def watch(self, patches: Patches) -> None:
        """Audit its programs until the patches are closed, from when it is imported."""
        self._patches = patches
        self.journal.imported.append(self.begin_if_needed)

    def begin_if_needed(self) -> None:
        """Is it there?"""
        accelerator = attributes(sys.modules.get("accelerate.accelerator")).get("Accelerator")
        loaders = sys.modules.get("accelerate.data_loader")
        if self._watching or accelerator is None or loaders is None:
            return
        self._watching = True
        self._patches.around(accelerator, "backward", self._around_backward)
        if optimizer := getattr(
            sys.modules.get("accelerate.optimizer"), "AcceleratedOptimizer", None
        ):
            self._patches.around(optimizer, "step", self._around_step)
        if scheduler := getattr(
            sys.modules.get("accelerate.scheduler"), "AcceleratedScheduler", None
        ):
            self._patches.around(scheduler, "step", self._around_schedule)
        for name in ("DataLoaderShard", "DataLoaderDispatcher"):
            loader = attributes(loaders).get(name)
            if loader is not None and "__iter__" in vars(loader):
                self.loaders.watch_loader(loader, self._patches)

    def _around_backward(self, real: Function) -> Function:
        def backward(accelerator: Any, loss: Tensor, **kwargs: Any) -> None:
            window = accelerator.gradient_accumulation_steps
            given = weights.read(loss) if window > 1 and not self.journal.asleep else None
            if given is not None:
                at = self.journal.places.here()
                told = divided_once_more(self.journal, given, window, at, "accelerate")
                self.backwards.framework = lambda loss: replace(loss, weight=told)
            try:
                real(accelerator, loss, **kwargs)
            finally:
                self.backwards.framework = None

        return backward

    def _around_step(self, real: Function) -> Function:
        def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.journal.asleep:
                self._steps(sys._getframe(1))
            return real(optimizer, *args, **kwargs)

        return step

    @unfailing
    def _steps(self, frame: FrameType) -> None:
        self.journal.frameworks[self.journal.places.here(frame)] = "accelerate"

    def _around_schedule(self, real: Function) -> Function:
        def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            schedulers = self.schedulers
            moved = schedulers.moved = []
            try:
                return real(scheduler, *args, **kwargs)
            finally:
                schedulers.moved = None
                if len(moved) > 1:
                    self._moved(moved)

        return step

    @unfailing
    def _moved(self, moved: list[Schedule]) -> None:
        """It moved once for each process. A program that asks how many there are made a schedule
        for that."""
        places, first = self.journal.places, moved[0]
        if any("num_processes" in places.source(path).text for path in places.met):
            return
        self.journal.frameworks[first.at] = "accelerate"
        self.journal.post(replace(first, moves=len(moved)))
