"""The loss and the learning rate of each step, from the values that backward was called on."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor
from torch.optim import Optimizer

from gradledger.ledger.events import Backward, CellNames, Clear, Gone
from gradledger.runtime.gradients.scalers import Scalers
from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.tensors.devices import here

MOST = 256
"""Deposits that may wait for a step; of more, the oldest are forgotten."""

Value = Tensor | float
"""A number, or where one is on a device."""


class Deposited(NamedTuple):
    """The loss of one backward pass, as long as a step may spend what it deposited."""

    cells: CellNames
    value: Value | None
    items: float | None
    """How much it counts where a Stepper divides the window by all its items; else None."""
    spent_by: set[str]


class Begun(NamedTuple):
    """The loss of a pass, before anything is known of what it deposits."""

    value: Value | None
    items: float | None = None


_UNKNOWN = Begun(None)


class LossValues:
    """Keeps the losses of passes until their deposits are spent or cleared."""

    def __init__(self, journal: Journal, scalers: Scalers) -> None:
        self.journal = journal
        self._scalers = scalers
        self._begun: dict[int, Begun] = {}
        """By thread, of the pass that is running."""
        self._waiting: deque[Deposited] = deque(maxlen=MOST)

    @unfailing
    def begins(self, roots: Sequence[Tensor], given: object) -> None:
        """A pass goes back from these; `given` are gradients that the program begins with."""
        known = given is None and all(type(r) is Tensor and r.numel() == 1 for r in roots)
        value: Value | None = None
        if known and roots:
            value = _kept(roots[0])
            for root in roots[1:]:
                value = value + _kept(root)
        self._begun[threading.get_ident()] = Begun(value)

    def announced(self, loss: Tensor | float | None, items: float) -> None:
        """A Stepper says of which loss, and of how many items, the next `Backward` is."""
        value = _kept(loss) if isinstance(loss, Tensor) else loss
        self._begun[threading.get_ident()] = Begun(value, items)

    def deposited(self, event: Backward) -> None:
        """The pass has put something into its cells."""
        if event.continues:
            return
        value, items = self._begun.pop(threading.get_ident(), _UNKNOWN)
        if event.scaler is not None and value is not None and items is None:
            scale = self._scalers.scale(event.scaler)
            value = None if scale is None else value / _kept(scale)
        self._waiting.append(Deposited(event.cells, value, items, set()))

    def emptied(self, event: Clear | Gone) -> None:
        """These cells hold nothing any more. A loss without a cell is forgotten."""
        left = (each._replace(cells=each.cells - event.cells) for each in self._waiting)
        self._waiting = deque((each for each in left if each.cells), maxlen=MOST)

    def spent(self, optimizer: str, cells: CellNames) -> Value | None:
        """The loss of the window that this step spends; None where a part of it is not known."""
        window = [
            each
            for each in self._waiting
            if optimizer not in each.spent_by and not each.cells.isdisjoint(cells)
        ]
        for each in window:
            each.spent_by.add(optimizer)
        if not window:
            return None
        total: Value = 0.0
        for value, items in ((each.value, each.items) for each in window):
            if value is None:
                return None
            total = total + value * (1 if items is None else items)
        items = sum(each.items or 0 for each in window)
        return total / items if items else total


def _kept(value: Tensor) -> Value:
    """The number, where nobody has to wait for it; else a copy that nobody changes."""
    flat = value.detach().reshape(())
    return float(flat) if here(flat) else flat.clone()


def learning_rate(optimizer: Optimizer) -> Tensor | float | None:
    """The largest of its param groups; of rates on a device, the first, as a copy."""
    rates = [group["lr"] for group in optimizer.param_groups if "lr" in group]
    elsewhere = [rate for rate in rates if isinstance(rate, Tensor) and not here(rate)]
    if elsewhere:
        return elsewhere[0].detach().clone()
    return max(map(float, rates), default=None)
