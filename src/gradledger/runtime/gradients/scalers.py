"""Watches GradScalers that are enabled; one that is not does nothing."""

from __future__ import annotations

import sys
import weakref
from typing import Any

from torch import Tensor
from torch.amp import GradScaler
from torch.compiler import is_compiling
from torch.optim import Optimizer

from gradledger.ledger.events import Unscale, Update
from gradledger.ledger.places import Place
from gradledger.runtime.journal.cells import grad_of
from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Function, Patches
from gradledger.runtime.losses.weights import SCALED
from gradledger.runtime.optimizers.optimizers import Optimizers, inner, parameters
from gradledger.runtime.tensors.graphs import note, noted, tensors

SHARDED = "torch.distributed.fsdp.sharded_grad_scaler"


class Scalers:
    """Marks scaled losses, and writes `Unscale`, `Skipped` and `Update`."""

    def __init__(self, journal: Journal, optimizers: Optimizers) -> None:
        self.journal = journal
        self.optimizers = optimizers
        self._players: dict[str, weakref.ref[GradScaler]] = {}
        self.asked: dict[str, Place] = {}
        """Where the program has asked for a scaler's scale last."""
        self._sharded = False

        self.read: dict[str, float] = {}
        """What the program was told then, as long as it holds."""

    @property
    def met(self) -> bool:
        """Has any of them scaled a loss?"""
        return bool(self._players)

    def scale(self, name: str) -> Tensor | None:
        """What the scaler of that name multiplies by at present."""
        player = self._players.get(name)
        scaler = None if player is None else player()
        return getattr(scaler, "_scale", None)

    def watch(self, patches: Patches) -> None:
        """Audit all scalers until the patches are closed."""
        self._patches = patches
        self._watch(GradScaler)
        self.journal.imported.append(self._watch_sharded)
        self._watch_sharded()

    def _watch(self, kind: type[GradScaler]) -> None:
        for method, around in {
            "scale": self._around_scale,
            "unscale_": self._around_unscale,
            "step": self._around_step,
            "update": self._around_update,
            "get_scale": self._around_get_scale,
        }.items():
            if method in vars(kind):
                self._patches.around(kind, method, self._unless_idle(around))

    def _watch_sharded(self) -> None:
        """FSDP1's scaler has methods of its own, which do not call those of the other."""
        kind = getattr(sys.modules.get(SHARDED), "ShardedGradScaler", None)
        if kind is not None and not self._sharded:
            self._sharded = True
            self._watch(kind)

    def _unless_idle(self, around: Function) -> Function:
        journal = self.journal

        def wrapper(real: Function) -> Function:
            watched = around(real)

            def method(scaler: GradScaler, *args: Any, **kwargs: Any) -> Any:
                idle = is_compiling() or journal.asleep or journal.work.hushed
                if idle or not scaler.is_enabled():
                    return real(scaler, *args, **kwargs)
                return watched(scaler, *args, **kwargs)

            return method

        return wrapper

    def _name(self, scaler: GradScaler) -> str:
        name = self.journal.name("scaler", scaler)
        if name not in self.optimizers.called:
            self.optimizers.call(name, scaler)
        return name

    def _around_get_scale(self, real: Function) -> Function:
        def get_scale(scaler: GradScaler) -> Any:
            self._asks(scaler)
            scale = real(scaler)
            self.read[self._name(scaler)] = scale
            return scale

        return get_scale

    @unfailing
    def _asks(self, scaler: GradScaler) -> None:
        self.asked[self._name(scaler)] = self.journal.places.here()

    def _around_scale(self, real: Function) -> Function:
        def scale(scaler: GradScaler, outputs: Any) -> Any:
            scaled = real(scaler, outputs)
            self._mark(scaler, scaled)
            return scaled

        return scale

    @unfailing
    def _mark(self, scaler: GradScaler, scaled: object) -> None:
        self.optimizers.backwards.weighs_all = True
        for loss in tensors(scaled):
            if loss.grad_fn is not None:
                self._players.setdefault(self._name(scaler), weakref.ref(scaler))
                told: dict[int, str] = noted(loss.grad_fn, SCALED) or {}
                note(loss.grad_fn, SCALED, told | {self.journal.number: self._name(scaler)})

    def _around_unscale(self, real: Function) -> Function:
        def unscale_(scaler: GradScaler, optimizer: Optimizer) -> None:
            if self.journal.work.depth:  # the scaler's step does it by itself
                real(scaler, optimizer)
            else:
                self._unscales(scaler, optimizer)
                with self.journal.call():
                    real(scaler, optimizer)
            if self.journal.unsettled:  # or who looks for changes by hand would find this one
                self._unscaled(optimizer)

        return unscale_

    @unfailing
    def _unscales(self, scaler: GradScaler, optimizer: Optimizer) -> None:
        at, wrapped = self.journal.arrive(), inner(optimizer)
        known = self.optimizers.known(wrapped)
        if known.spelled is None:  # it need not come to a step
            self.optimizers.spell(known, wrapped)
        self.journal.post(self.journal.made(Unscale, at, known.name, self._name(scaler)))

    @unfailing
    def _unscaled(self, optimizer: Optimizer) -> None:
        leaves = [leaf for leaf in parameters(inner(optimizer)) if grad_of(leaf) is not None]
        with self.journal.entering:
            slots, _ = self.journal.cells.group(leaves)
            if len(slots) == len(leaves):
                self.journal.cells.see(leaves, slots)

    def _around_step(self, real: Function) -> Function:
        def step(scaler: GradScaler, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
            optimizers, wrapped, name = self.optimizers, inner(optimizer), self._name(scaler)
            at, work = self._steps(wrapped), self.journal.work
            if at is None:
                return real(scaler, optimizer, *args, **kwargs)
            steps, work.scaler = work.steps, name
            try:
                with self.journal.call():
                    result = real(scaler, optimizer, *args, **kwargs)
            except RuntimeError:
                optimizers.skipped(at, wrapped, name, "refused")
                raise
            finally:
                work.scaler = None
            if work.steps == steps:
                optimizers.skipped(at, wrapped, name, "overflow")
            return result

        return step

    @unfailing
    def _steps(self, optimizer: Optimizer) -> Place:
        at = self.journal.arrive()
        self.optimizers.known(optimizer)
        return at

    def _around_update(self, real: Function) -> Function:
        def update(scaler: GradScaler, *args: Any, **kwargs: Any) -> None:
            real(scaler, *args, **kwargs)
            self._updated(scaler)

        return update

    @unfailing
    def _updated(self, scaler: GradScaler) -> None:
        at = self.journal.arrive()
        self.read.pop(self._name(scaler), None)
        self.journal.post(self.journal.made(Update, at, self._name(scaler)))
