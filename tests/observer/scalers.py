"""Watches GradScalers that are enabled; one that is not does nothing."""

from __future__ import annotations

from typing import Any

from torch.amp import GradScaler
from torch.optim import Optimizer

from gradledger.ledger.events import Skipped, Unscale, Update
from tests.observer.graphs import mark, tensors
from tests.observer.journal import Journal
from tests.observer.optimizers import Optimizers
from tests.observer.patches import Function, Patches
from tests.observer.weights import SCALED


class Scalers:
    """Marks scaled losses, and writes `Unscale`, `Skipped` and `Update`."""

    def __init__(self, journal: Journal, optimizers: Optimizers) -> None:
        self.journal = journal
        self.optimizers = optimizers

    def watch(self, patches: Patches) -> None:
        """Observe all scalers until the patches are closed."""
        for method, around in {
            "scale": self._around_scale,
            "unscale_": self._around_unscale,
            "step": self._around_step,
            "update": self._around_update,
        }.items():
            patches.around(GradScaler, method, _unless_disabled(around))

    def name(self, scaler: GradScaler) -> str:
        """What the scaler is called in the journal."""
        return self.journal.roles.name("scaler", scaler)

    def _around_scale(self, real: Function) -> Function:
        def scale(scaler: GradScaler, outputs: Any) -> Any:
            scaled = real(scaler, outputs)
            for loss in tensors(scaled):
                mark(loss.grad_fn, SCALED, self.name(scaler))
            return scaled

        return scale

    def _around_unscale(self, real: Function) -> Function:
        def unscale_(scaler: GradScaler, optimizer: Optimizer) -> None:
            if self.journal.at_work:  # the scaler's step does it by itself
                real(scaler, optimizer)
                return
            with self.journal.call() as at:
                event = Unscale(at, self.optimizers.name(inner(optimizer)), self.name(scaler))
                self.journal.post(event)
                real(scaler, optimizer)

        return unscale_

    def _around_step(self, real: Function) -> Function:
        def step(scaler: GradScaler, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
            name, optimizers = self.optimizers.name(inner(optimizer)), self.optimizers
            with self.journal.call() as at:
                written = len(optimizers.stepped)
                optimizers.scaler = self.name(scaler)
                try:
                    result = real(scaler, optimizer, *args, **kwargs)
                except RuntimeError:
                    self.journal.post(Skipped(at, name, self.name(scaler), reason="refused"))
                    raise
                finally:
                    optimizers.scaler = None
                if len(optimizers.stepped) == written:
                    self.journal.post(Skipped(at, name, self.name(scaler), reason="overflow"))
            return result

        return step

    def _around_update(self, real: Function) -> Function:
        def update(scaler: GradScaler, *args: Any, **kwargs: Any) -> None:
            real(scaler, *args, **kwargs)
            self.journal.post(Update(self.journal.here(), self.name(scaler)))

        return update


def inner(optimizer: Any) -> Optimizer:
    """The optimizer itself, where a framework has wrapped it."""
    while isinstance(wrapped := getattr(optimizer, "optimizer", None), Optimizer):
        optimizer = wrapped
    real: Optimizer = optimizer
    return real


def _unless_disabled(around: Function) -> Function:
    def wrapper(real: Function) -> Function:
        watched = around(real)

        def method(scaler: GradScaler, *args: Any, **kwargs: Any) -> Any:
            return (watched if scaler.is_enabled() else real)(scaler, *args, **kwargs)

        return method

    return wrapper
