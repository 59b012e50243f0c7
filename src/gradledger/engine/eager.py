"""`release="eager"`: each gradient is spent as it arrives, and freed, while backward goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite, sqrt

import torch
from torch import Tensor, optim
from torch.optim import Optimizer

from gradledger.engine.arrivals import Arrivals
from gradledger.engine.guards import Guard
from gradledger.engine.options import Options
from gradledger.engine.ownership import Group, Ownership
from gradledger.engine.packable import ELEMENTWISE, LOW_PRECISION
from gradledger.engine.parties import evaluates
from gradledger.errors import NonFiniteGradient, OptionError, TornUpdateError
from gradledger.ledger.announcing import listeners

ONE_BY_ONE = ELEMENTWISE | {
    getattr(optim, name)
    for name in ("Adafactor", "SparseAdam", "Muon")  # not each torch has all of them
    if hasattr(optim, name)
}
"""What happens to a parameter depends on that parameter alone."""


class EagerRelease:
    """Spends each gradient of a backward as soon as it is complete."""

    def __init__(
        self, ownership: Ownership, guards: dict[Optimizer, Guard], options: Options
    ) -> None:
        self._ownership = ownership
        self._guards = guards
        self._options = options
        self._arrivals = Arrivals(self._spend)
        self._homes: dict[int, tuple[Optimizer, Group]] = {}
        self.moved: list[Tensor] = []
        """The parameters that the last backward updated."""
        self._squares = 0.0
        self.norm: float | None = None

    def backward(self, loss: Tensor, inputs: list[Tensor], *, retain_graph: bool) -> None:
        """Walks back and spends on the way."""
        self._homes = {
            id(p): (optimizer, group)
            for optimizer, group in self._ownership.groups()
            for p in group["params"]
        }
        self.moved, self._squares = [], 0.0
        try:
            with self._one_at_a_time():
                self._arrivals.backward(loss, inputs, retain_graph=retain_graph)
        except BaseException as error:
            self._ownership.clear()
            if self.moved:
                raise TornUpdateError(
                    f"backward failed after {len(self.moved)} parameters had been updated, and "
                    'with release="eager" that can\'t be undone: go back to a checkpoint. Cause: '
                    f"{type(error).__name__}: {error}"
                ) from error
            raise
        self.norm = sqrt(self._squares) if self._options.guarded else None

    @contextmanager
    def _one_at_a_time(self) -> Iterator[None]:
        """Inside, the optimizers hold no parameters but the one that is being spent."""
        groups = [group for _, group in self._ownership.groups()]
        held = [group["params"] for group in groups]
        for group in groups:
            group["params"] = []
        try:
            yield
        finally:
            for group, params in zip(groups, held, strict=True):
                group["params"] = params

    def _spend(self, p: Tensor) -> None:
        assert p.grad is not None
        if p.grad.layout is not torch.strided:
            p.grad = p.grad.coalesce()
        values = p.grad if p.grad.layout is torch.strided else p.grad._values()
        self._check(p, values)
        optimizer, group = self._homes[id(p)]
        for listener in listeners:
            if listener.measures:
                listener.spends(optimizer, {p: p.grad}, 1.0)
        if self._options.clip_value is not None:
            values.clamp_(-self._options.clip_value, self._options.clip_value)
        group["params"] = [p]
        try:
            with self._guards[optimizer]:
                optimizer.step()
        finally:
            group["params"] = []
        self.moved.append(p)
        p.grad = None

    def _check(self, p: Tensor, values: Tensor) -> None:
        if not self._options.guarded:
            return
        wide = torch.float32 if values.dtype in LOW_PRECISION else None
        norm = float(torch.linalg.vector_norm(values, dtype=wide))
        if not isfinite(norm) and not torch.isfinite(values).all():
            name = self._ownership.names()[id(p)]
            raise NonFiniteGradient(f"the gradient of {name} is not finite (NaN or Inf).")
        self._squares += norm * norm


def check_eager(options: Options, optimizers: tuple[Optimizer, ...], *, scaled: bool) -> None:
    """Raises OptionError where spending early could not be exact.

    A window of several micro-batches is spent when it is full, by any optimizer that steps once.
    """
    why = None
    if options.accumulate > 1:
        if any(map(evaluates, optimizers)):
            why = "an optimizer that evaluates the loss itself needs its batches again"
    elif options.clip_norm is not None:
        why = "clip_norm needs all gradients before any of them is spent (clip_value does not)"
    elif scaled:
        why = "a GradScaler looks at all gradients before any of them is spent"
    elif options.on_nonfinite == "skip":
        why = "an update can't be skipped half way: choose on_nonfinite='raise' or 'allow'"
    else:
        for optimizer in optimizers:
            if type(optimizer) not in ONE_BY_ONE:
                kind = type(optimizer).__name__
                why = f"{kind} is not known to treat every parameter by itself"
    if why:
        raise OptionError(f'release="eager" can\'t be exact here: {why}.')
