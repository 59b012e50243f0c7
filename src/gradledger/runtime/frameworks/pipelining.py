"""Watches what schedules of `torch.distributed.pipelining` do to gradients themselves.

Some split the backward pass in two. The first half is for the inputs of a stage alone. The second,
for its weights, is an `autograd.grad` whose result torch writes into `.grad` itself: a deposit
without a backward pass. And all of them divide the gradients by the number of micro-batches.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from torch import Tensor

from gradledger.ledger.events import UNKNOWN_WEIGHT
from gradledger.ledger.values import replace
from gradledger.runtime.backward.backwards import Backwards, Pass
from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Function, Patches
from gradledger.runtime.losses.weights import Loss

PIPELINING = "torch.distributed.pipelining"
SECOND_HALF = "stage_backward_weight"


class Pipelining:
    """Writes `Backward` for halves that are for weights; knows what losses are divided by."""

    def __init__(self, journal: Journal, backwards: Backwards) -> None:
        self.journal = journal
        self.backwards = backwards
        self._watched = False

    def watch(self, patches: Patches) -> None:
        """Audit split passes until the patches are closed, from when pipelining is imported."""
        self._patches = patches
        self.journal.imported.append(self._begin_if_loaded)
        self._begin_if_loaded()

    def _begin_if_loaded(self) -> None:
        # Others import the function by name, and have to be there, too.
        if self._watched or f"{PIPELINING}.schedules" not in sys.modules:
            return
        self._watched = True
        halves: Any = sys.modules.get(f"{PIPELINING}._backward")
        if hasattr(halves, SECOND_HALF):
            self._patches.everywhere(halves, {SECOND_HALF: self._around_half})
        stage = getattr(sys.modules.get(f"{PIPELINING}.stage"), "_PipelineStageBase", None)
        if hasattr(stage, "scale_grads"):
            self._patches.around(stage, "scale_grads", self._around_scale)
        for name in ("PipelineScheduleSingle", "PipelineScheduleMulti"):
            schedule = getattr(sys.modules[f"{PIPELINING}.schedules"], name, None)
            if hasattr(schedule, "step"):
                self._patches.around(schedule, "step", self._around_step)

    def _around_half(self, real: Function) -> Function:
        journal = self.journal

        def stage_backward_weight(weights: Iterable[Tensor], *args: Any, **kwargs: Any) -> Any:
            work = journal.thread.work
            if journal.asleep or work.depth or work.hushed:
                return real(weights, *args, **kwargs)
            of_stage = list(weights)
            this = self._begins(of_stage)
            try:
                result = real(iter(of_stage), *args, **kwargs)
                if this is not None:
                    this.partial = False
                return result
            finally:
                if this is not None:
                    self._ended(this)

        return stage_backward_weight

    @unfailing
    def _begins(self, weights: list[Tensor]) -> Pass:
        with self.journal.entering:
            return self.backwards.begin_without_graph(sys._getframe(3), weights)

    @unfailing
    def _ended(self, this: Pass) -> None:
        with self.journal.entering:
            self.backwards.end_without_graph(this)

    def _around_step(self, real: Function) -> Function:
        backwards = self.backwards

        def step(schedule: Any, *args: Any, **kwargs: Any) -> Any:
            if schedule.scale_grads and not self.journal.asleep:
                count = getattr(schedule, "_n_microbatches", None)
                if count is None:
                    self.journal.not_seen("weights", "torch's schedule doesn't tell its length")
                if count != 1:
                    backwards.framework = lambda loss: _divided_later(loss, count)
            try:
                return real(schedule, *args, **kwargs)
            finally:
                backwards.framework = None

        return step

    def _around_scale(self, real: Function) -> Function:
        journal = self.journal

        def scale_grads(stage: Any, factor: int) -> None:
            real(stage, factor)
            if factor != 1 and not (journal.asleep or journal.thread.work.hushed):
                self._seen(stage)

        return scale_grads

    @unfailing
    def _seen(self, stage: Any) -> None:
        """What the division wrote to is no deposit."""
        cells = self.journal.cells
        with self.journal.entering:
            held = [one for one in stage.submod.parameters() if cells.slot(one) is not None]
            if held:
                cells.see(held, cells.group(held)[0])


def _divided_later(loss: Loss, count: int | None) -> Loss:
    """The schedule divides the gradients themselves, when all passes are made.

    count: how many micro-batches it has, None if that isn't known
    """
    if count is None:
        return replace(loss, weight=UNKNOWN_WEIGHT)
    divisor = loss.weight.divisor
    if not isinstance(divisor, int | float):
        return loss
    return replace(loss, weight=replace(loss.weight, divisor=divisor * count))
