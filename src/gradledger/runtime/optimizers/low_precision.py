"""Watches a cell that adds up in bf16 or fp16: does what is deposited arrive there?"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gradledger.ledger.events import NO_CELLS, CellNames
from gradledger.runtime.backward.backwards import Pass
from gradledger.runtime.journal.cells import Slots, State, grad_of, look_at
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Patches
from gradledger.runtime.tensors.devices import here
from gradledger.runtime.tensors.dtensors import is_dtensor
from gradledger.runtime.tensors.dtypes import LOW_PRECISION
from gradledger.runtime.tensors.weak_references import TensorRef

TOO_FAR = 0.01
"""The relative error from which on deposits have vanished."""
LARGEST = 1_000_000
"""Elements of the cell that is followed."""


class Precision:
    """Adds up what arrives at one low-precision cell in float32, beside the cell."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.follows = False
        self._slot: int | None = None
        self._leaf: TensorRef | None = None
        self._sum: Tensor | None = None
        self._after: State = None
        """What the cell looked like after the latest deposit."""
        self._too_far = False
        self._was_too_far = False
        """The same of a window before, as a device has told by now."""
        self._arrived = False
        """The hook was called since the latest deposit."""
        self._unhook: Callable[[], None] = _nothing

    def watch(self, patches: Patches) -> None:
        """Follow a cell until the patches are closed."""
        patches.callback(self._lose)

    def deposited(self, this: Pass, slots: Slots) -> None:
        """A pass of a site that accumulates has put something into these cells."""
        if self._slot is None:
            self._choose(slots)
        elif self._slot in slots:
            self._compare()

    def _choose(self, slots: Slots) -> None:
        """Follow the first that is of low precision and not too large."""
        for slot in slots:
            leaf = self.journal.cells.leaf(slot)
            grad = None if leaf is None else grad_of(leaf)
            if leaf is None or grad is None or grad.dtype not in LOW_PRECISION or grad.is_sparse:
                continue
            if is_dtensor(leaf):  # what arrives is not what is added to its part
                continue
            if leaf.numel() <= LARGEST:
                self._slot, self._leaf = slot, TensorRef(leaf, lambda _: self._lose())
                self.follows = True
                hook = leaf.register_hook(self._arrives)  # type: ignore[no-untyped-call]
                self._unhook = hook.remove
                return

    def _lose(self) -> None:
        self._unhook()
        self._unhook = _nothing
        self._slot = self._leaf = self._sum = None
        self._too_far = self._was_too_far = self._arrived = False

    def _arrives(self, grad: Tensor) -> None:
        self._arrived = True
        leaf = None if self._leaf is None else self._leaf()
        if self.journal.asleep or leaf is None:
            return
        state = look_at(leaf)
        part = grad.detach().to(torch.float32)
        if state is None:
            self._sum, self._too_far = part.clone(), False
        elif self._sum is not None and state == self._after:
            self._sum = self._sum.add_(part)
        else:
            self._sum = None  # others changed the gradient: nothing to compare with

    def _compare(self) -> None:
        if not self._arrived:  # a swap of the leaf's contents takes hooks away
            self._lose()
            return
        self._arrived = False
        leaf = None if self._leaf is None else self._leaf()
        grad = None if leaf is None else grad_of(leaf)
        if leaf is None or grad is None or self._sum is None:
            return
        self._after = look_at(leaf)
        norm = self._sum.norm()
        error = (grad.detach().to(torch.float32) - self._sum).norm()
        if here(grad):
            self._too_far = _is_too_far([float(norm), float(error)])
        else:
            self.journal.later.ask(torch.stack((norm, error)), self._learn)

    def _learn(self, numbers: list[float]) -> None:
        """A device tells of a deposit of before: the next step is one like that one."""
        self._was_too_far = self._was_too_far or _is_too_far(numbers)

    def vanished(self, slots: Slots) -> CellNames:
        """The cell, if it is about to be spent and much of what was deposited is not in it."""
        too_far = self._too_far or self._was_too_far
        if self._slot is None or not too_far or self._slot not in slots:
            return NO_CELLS
        self._was_too_far = False
        return frozenset({self.journal.cells.names[self._slot]})


def _is_too_far(numbers: list[float]) -> bool:
    norm, error = numbers
    return norm > 0 and error > TOO_FAR * norm


def _nothing() -> None:
    """There is no hook to remove."""
