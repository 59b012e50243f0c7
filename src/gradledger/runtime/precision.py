"""Watches a cell that adds up in bf16 or fp16: does what is deposited arrive there?"""

from __future__ import annotations

import weakref

import torch
from torch import Tensor

from gradledger.ledger.events import NO_CELLS, CellNames
from gradledger.runtime.backwards import Pass
from gradledger.runtime.cells import LOW_PRECISION, Slots, State, grad_of, look_at
from gradledger.runtime.journal import Journal
from gradledger.runtime.patches import Patches

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
        self._leaf: weakref.ref[Tensor] | None = None
        self._sum: Tensor | None = None
        self._after: State = None
        """What the cell looked like after the latest deposit."""
        self._too_far = False

    def watch(self, patches: Patches) -> None:
        """Follow a cell until the patches are closed."""
        self._patches = patches

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
            if leaf.numel() <= LARGEST:
                self._slot, self._leaf = slot, weakref.ref(leaf, lambda _: self._lose())
                self.follows = True
                hook = leaf.register_hook(self._arrives)  # type: ignore[no-untyped-call]
                self._patches.callback(hook.remove)
                return

    def _lose(self) -> None:
        self._slot = self._leaf = self._sum = None

    def _arrives(self, grad: Tensor) -> None:
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
            self._sum = None  # somebody else worked on the cell: nothing to compare with

    def _compare(self) -> None:
        leaf = None if self._leaf is None else self._leaf()
        grad = None if leaf is None else grad_of(leaf)
        if leaf is None or grad is None or self._sum is None:
            return
        self._after = look_at(leaf)
        norm = float(self._sum.norm())
        error = float((grad.detach().to(torch.float32) - self._sum).norm())
        self._too_far = norm > 0 and error > TOO_FAR * norm

    def vanished(self, slots: Slots) -> CellNames:
        """The cell, if it is about to be spent and much of what was deposited is not in it."""
        if self._slot is None or not self._too_far or self._slot not in slots:
            return NO_CELLS
        return frozenset({self.journal.cells.names[self._slot]})
