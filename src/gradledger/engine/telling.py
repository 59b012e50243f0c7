"""Reports what a Stepper does to listeners, as events of the ledger."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from gradledger.engine.options import Options
from gradledger.engine.ownership import Ownership
from gradledger.engine.scaling import Scaling
from gradledger.ledger.announcing import Listener, listeners, performing
from gradledger.ledger.events import (
    Backward,
    Batch,
    CellNames,
    Clear,
    Clip,
    Edit,
    EpochEnd,
    Event,
    Schedule,
    Skipped,
    Step,
    Sync,
    Unscale,
    Update,
    Weight,
)
from gradledger.ledger.places import Place

_DISABLE: Callable[[Any], Any] = getattr(torch, "_disable_dynamo", torch.compiler.disable)
"""Like `torch.compiler.disable`, and loads the compiler when it is called and not before."""

P = ParamSpec("P")
R = TypeVar("R")


def announced(method: Callable[P, R]) -> Callable[P, R]:
    """A method that moves gradients, and announces it. torch.compile runs it as it is.

    Traced, it would be cut into many small graphs, which round otherwise and are slower.
    """
    untraced: Callable[P, R] = _DISABLE(method)

    @wraps(method)
    def performed(*args: P.args, **kwargs: P.kwargs) -> R:
        if torch.compiler.is_dynamo_compiling():
            return untraced(*args, **kwargs)
        if not listeners:
            return method(*args, **kwargs)
        with performing():
            return method(*args, **kwargs)

    return performed


class Telling:
    """Tells what happens. Where nobody listens, it costs a look at an empty list."""

    def __init__(
        self, ownership: Ownership, scaling: Scaling, options: Options, *, local: bool = False
    ) -> None:
        self._ownership = ownership
        self._scaling = scaling
        self._options = options
        self._local = local
        """What is deposited is this rank's own, until the ranks meet."""
        self._losses: list[tuple[Listener, Place, Tensor | None, bool]] = []
        """This micro-batch's losses: where they went back, and whether their graph was kept."""

    def batch(self) -> None:
        """The loop has drawn other data."""
        for listener in listeners:
            listener.hear(Batch(listener.here()))

    def pass_ended(self) -> None:
        """The data has ended, and no window goes on behind it."""
        for listener in listeners:
            listener.hear(EpochEnd(listener.here(), restarts=True))

    def walked_back(self, loss: Tensor, *, retain_graph: bool) -> None:
        """A backward has run. It is a deposit once its micro-batch is complete."""
        value = loss.detach()
        self._losses += [(listener, listener.here(), value, retain_graph) for listener in listeners]

    def forget(self) -> None:
        """What has walked back so far is not told."""
        self._losses.clear()

    def deposited(self, parameters: Iterable[Tensor], items: float | None) -> None:
        """A micro-batch is in the window, times its items: a sum, to be divided by all of them."""
        got = list(parameters) if self._losses else []
        if got:
            weight = Weight("sum", items=None if items is None else round(items))
            summed = self._summed(1 if items is None else items)
            for listener, at, _, retain in self._losses:
                cells, scaler = listener.cells(got), self._scaler(listener)
                if listener.measures:
                    listener.loss(*summed.pop(id(listener), (0.0, 0)))
                listener.hear(
                    Backward(at, cells, weight, scaler, local=self._local, retain_graph=retain)
                )
        self._losses.clear()

    def _summed(self, items: float) -> dict[int, tuple[Tensor | None, float]]:
        """For each listener that measures, the sum of this micro-batch's losses. They are of the
        same items, which count once: the first `Backward` has them all."""
        losses: dict[int, list[Tensor | None]] = {}
        for listener, _, loss, _ in self._losses:
            if listener.measures:
                losses.setdefault(id(listener), []).append(loss)
        return {who: (_sum(of), items) for who, of in losses.items()}

    def taken_up(self, parameters: Iterable[Tensor]) -> None:
        """Sums were loaded, of deposits that another process made."""
        for listener in listeners:
            self._losses.append((listener, listener.here(), None, False))
        self.deposited(parameters, None)

    def met(self, sums: Sequence[Tensor], held: Collection[Tensor]) -> None:
        """The ranks have added up their sums. What others alone have deposited is a deposit too."""
        self.taken_up([p for p in sums if p not in held])
        for listener in listeners:
            listener.hear(Sync(listener.here(), listener.cells(sums)))

    def spent_at_once(self, loss: Tensor, moved: Sequence[Tensor], *, retain_graph: bool) -> None:
        """Every gradient was spent as it arrived."""
        self.walked_back(loss, retain_graph=retain_graph)
        self.deposited(moved, None)
        self.spent(moved, 1.0)

    def spends(self, sums: Iterable[tuple[Tensor, Tensor]], factor: float) -> None:
        """The optimizers are about to step from these sums, each times the factor."""
        measuring = [listener for listener in listeners if listener.measures]
        totals = list(sums) if measuring else []
        for listener in measuring:
            for optimizer in self._ownership.optimizers:
                own = set(map(id, _parameters(optimizer)))
                listener.spends(optimizer, {p: t for p, t in totals if id(p) in own}, factor)

    def spent(self, sums: Iterable[Tensor], factor: float) -> None:
        """The optimizers have stepped, each from its part of the sums."""
        self._settled(sums, factor, skipped=False)

    def skipped(self, sums: Iterable[Tensor]) -> None:
        """No update was made."""
        self._settled(sums, 1.0, skipped=True)

    def scheduled(self, schedulers: Sequence[LRScheduler]) -> None:
        """They moved on."""
        for listener in listeners:
            for scheduler in schedulers:
                name = listener.name("scheduler", scheduler)
                optimizer = listener.name("optimizer", scheduler.optimizer)
                listener.hear(Schedule(listener.here(), name, optimizer))

    def _settled(self, sums: Iterable[Tensor], factor: float, *, skipped: bool) -> None:
        held = {id(p) for p in sums} if listeners else set()
        for listener in listeners:
            at, scaler = listener.here(), self._scaler(listener)
            for optimizer in self._ownership.optimizers:
                name = listener.name("optimizer", optimizer)
                cells = listener.cells(p for p in _parameters(optimizer) if id(p) in held)
                for event in self._cycle(at, name, cells, scaler, factor, skipped=skipped):
                    listener.hear(event)
            if scaler is not None:
                listener.hear(Update(at, scaler))
            everything = (p for p in self._ownership.parameters() if id(p) in held)
            listener.hear(Clear(at, listener.cells(everything)))

    def _cycle(
        self,
        at: Place,
        optimizer: str,
        cells: CellNames,
        scaler: str | None,
        factor: float,
        *,
        skipped: bool,
    ) -> Iterable[Event]:
        """What one optimizer does with its part."""
        if scaler is not None:
            yield Unscale(at, optimizer, scaler)
        if skipped:
            yield Skipped(at, optimizer, scaler)
            return
        if factor != 1.0:
            yield Edit(at, cells, "scale", factor)
        if self._options.clip_norm is not None or self._options.clip_value is not None:
            yield Clip(at, cells)
        yield Step(at, optimizer, cells, scaler)

    def _scaler(self, listener: Listener) -> str | None:
        scaler = self._scaling.scaler
        return None if scaler is None else listener.name("scaler", scaler)


def _sum(losses: Iterable[Tensor | None]) -> Tensor | None:
    total: Tensor | None = None
    for loss in losses:
        if loss is None:
            return None
        total = loss if total is None else total + loss
    return total


def _parameters(optimizer: Optimizer) -> Iterable[Tensor]:
    return (p for group in optimizer.param_groups for p in group["params"])
