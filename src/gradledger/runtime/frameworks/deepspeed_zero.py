"""Watches DeepSpeed's optimizers: ZeRO's, which take each gradient into buffers of their own and
leave None, and those of low precision, which copy gradients when they step.

The torch optimizer inside holds flat partitions of the parameters, not the parameters. So what a
pass deposits is what its graph reaches, the step is ZeRO's own, and that clears by itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.optim.optimizer import Optimizer

from gradledger.ledger.events import Clear, Skipped
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Function, Patches
from gradledger.runtime.losses import weights
from gradledger.runtime.losses.trainer_losses import divided_once_more
from gradledger.runtime.losses.weights import Loss
from gradledger.runtime.optimizers.optimizers import Optimizers, RunningStep
from gradledger.runtime.program.objects import attributes, is_a
from gradledger.runtime.tensors.weak_references import TensorRef

KINDS = {
    "deepspeed.runtime.zero.stage_1_and_2": ("DeepSpeedZeroOptimizer", "bit16_groups"),
    "deepspeed.runtime.zero.stage3": ("DeepSpeedZeroOptimizer_Stage3", "fp16_groups"),
    "deepspeed.runtime.bf16_optimizer": ("BF16_Optimizer", "bf16_groups"),
    "deepspeed.runtime.fp16.fused_optimizer": ("FP16_Optimizer", "fp16_groups"),
    "deepspeed.runtime.fp16.unfused_optimizer": ("FP16_UnfusedOptimizer", "fp16_groups"),
}
"""By module: the class, and its attribute with the model's parameters, in lists."""
ENGINE = "deepspeed.runtime.engine"
UNKNOWN = "in buffers of a version of DeepSpeed that gradledger does not know"


class Zero:
    """Writes `Step`, `Skipped` and `Clear` for DeepSpeed's optimizers."""

    def __init__(self, journal: Journal, optimizers: Optimizers) -> None:
        self.journal = journal
        self.optimizers = optimizers
        self._watched: set[str] = set()

    def watch(self, patches: Patches) -> None:
        """Audit ZeRO until the patches are closed, from when it is imported."""
        self._patches = patches
        self.journal.imported.append(self._begin_if_loaded)
        self._begin_if_loaded()

    def _begin_if_loaded(self) -> None:
        for module, (name, _) in KINDS.items():
            kind = getattr(sys.modules.get(module), name, None)
            if kind is not None and module not in self._watched:
                self._watched.add(module)
                self._patches.around(kind, "__init__", self._around_init)
                self._patches.around(kind, "step", self._around_step)
        engine = getattr(sys.modules.get(ENGINE), "DeepSpeedEngine", None)
        if engine is not None and ENGINE not in self._watched:
            self._watched.add(ENGINE)
            self._patches.around(engine, "backward", self._around_backward)
            if hasattr(engine, "zero_grad"):
                self._patches.around(engine, "zero_grad", self._around_zero_grad)

    def _around_backward(self, real: Function) -> Function:
        backwards = self.optimizers.backwards

        def backward(engine: Any, loss: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.journal.asleep:
                backwards.framework = self._divides(engine, loss, kwargs)
            try:
                return real(engine, loss, *args, **kwargs)
            finally:
                backwards.framework = None

        return backward

    @unfailing
    def _divides(
        self, engine: Any, loss: Tensor, given: dict[str, Any]
    ) -> Callable[[Loss], Loss] | None:
        """DeepSpeed divides by its window: the loss, or, in a hook, its gradient."""
        window = attributes(attributes(engine).get("_config")).get("gradient_accumulation_steps")
        if type(window) is not int or window < 2 or not is_a(loss, Tensor):
            return None
        if given.get("scale_wrt_gas") is False:
            return None
        at = self.journal.places.here()
        weight = divided_once_more(self.journal, weights.read(loss), window, at, "deepspeed")
        return lambda read: replace(read, weight=weight)

    def _around_zero_grad(self, real: Function) -> Function:
        def zero_grad(engine: Any, *args: Any, **kwargs: Any) -> None:
            real(engine, *args, **kwargs)
            if not (self.journal.asleep or self.journal.thread.work.hushed):
                self._emptied()

        return zero_grad

    @unfailing
    def _emptied(self) -> None:
        """The engine sets `.grad` to None itself."""
        journal = self.journal
        with journal.entering:
            at = journal.arrive()
            if emptied := journal.cells.emptied(None):
                self.optimizers.backwards.cleared(emptied)
                names = frozenset(journal.cells.names[slot] for slot in emptied)
                journal.post(journal.made(Clear, at, names, True))

    def _around_init(self, real: Function) -> Function:
        def init(zero: Any, *args: Any, **kwargs: Any) -> None:
            # It steps once, with zeros, to have the optimizer make its state.
            work = self.journal.thread.work
            hushed, work.hushed = work.hushed, True
            try:
                real(zero, *args, **kwargs)
            finally:
                work.hushed = hushed
            if not self.journal.asleep:
                self._made(zero)

        return init

    @unfailing
    def _made(self, zero: Any) -> None:
        base, held = getattr(zero, "optimizer", None), _held(zero)
        if not isinstance(base, Optimizer) or not held:
            self.journal.not_seen("deposits", UNKNOWN)
            return
        journal, shards = self.journal, self.optimizers.backwards.shards
        self.optimizers.stand_ins[base] = [TensorRef(parameter) for parameter in held]
        known = self.optimizers.known(base, journal.arrive(outside=zero))
        shards.taken.update(known.slots)
        journal.cells.parts.update(known.slots)

    def _around_step(self, real: Function) -> Function:
        def step(zero: Any, *args: Any, **kwargs: Any) -> Any:
            work = self.journal.thread.work
            if self.journal.asleep or work.hushed:
                return real(zero, *args, **kwargs)
            at = self._arrives()
            work.hushed = True
            try:
                result = real(zero, *args, **kwargs)
            finally:
                work.hushed = False
            if at is not None:
                self._stepped(zero, at)
            return result

        return step

    @unfailing
    def _arrives(self) -> Place:
        return self.journal.arrive()

    @unfailing
    def _stepped(self, zero: Any, at: Place) -> None:
        journal, base = self.journal, getattr(zero, "optimizer", None)
        if not isinstance(base, Optimizer) or base not in self.optimizers.stand_ins:
            return
        known = self.optimizers.known(base)
        if getattr(zero, "overflow", False):
            journal.post(journal.made(Skipped, at, known.name, None, "overflow"))
        else:
            self.optimizers.write(RunningStep(known, base, at, journal.thread.work))
        journal.post(journal.made(Clear, at, known.cells, True))


def _held(zero: Any) -> list[Tensor]:
    """The model's parameters that it has taken over."""
    for _, attribute in KINDS.values():
        groups = getattr(zero, attribute, None)
        if groups:
            return [parameter for group in groups for parameter in group]
    return []
