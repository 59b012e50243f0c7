"""Watches `zero_grad`, of optimizers and of modules."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from torch import Tensor, nn
from torch.compiler import is_compiling
from torch.optim.optimizer import Optimizer

from gradledger.ledger.events import Clear, Read
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place
from gradledger.runtime.backwards import Backwards
from gradledger.runtime.cells import Slots
from gradledger.runtime.finiteness import all_finite
from gradledger.runtime.journal import Journal
from gradledger.runtime.optimizers import Optimizers, inner
from gradledger.runtime.patches import Function, Patches, definers
from gradledger.runtime.unfailing import survive
from gradledger.runtime.variables import variables


class Clears:
    """Writes a `Clear` for what a call really cleared."""

    def __init__(self, journal: Journal, backwards: Backwards, optimizers: Optimizers) -> None:
        self.journal = journal
        self.backwards = backwards
        self.optimizers = optimizers
        self._page: Page | None = None
        self._unspent = False
        """Whether something was unspent on that page."""

    def watch(self, patches: Patches) -> None:
        """Audit `zero_grad` until the patches are closed."""
        for optimizer in definers(Optimizer, "zero_grad"):
            patches.around(optimizer, "zero_grad", self._around)
        patches.around(nn.Module, "zero_grad", self._around)

    def _around(self, real: Function) -> Function:
        journal = self.journal

        def zero_grad(holder: Any, *args: Any, **kwargs: Any) -> Any:
            if journal.asleep or is_compiling() or (work := journal.thread.work).hushed:
                return real(holder, *args, **kwargs)
            if work.depth:
                self.backwards.tell_so_far()
                if work.depth > 1:
                    return real(holder, *args, **kwargs)
            try:
                at, slots = journal.arrive(frame := sys._getframe(1)), self._slots(holder)
                if self._something_unspent():
                    self._excuse(slots, at, frame)
            except Exception as error:
                survive(journal, error)
                return real(holder, *args, **kwargs)
            work.depth += 1
            try:
                return real(holder, *args, **kwargs)
            finally:
                work.depth -= 1
                try:
                    with journal.entering:
                        self._tell(slots, at)
                except Exception as error:
                    survive(journal, error)

        return zero_grad

    def _slots(self, holder: Any) -> Slots:
        if isinstance(holder, Optimizer):
            known = self.optimizers.at_hand(holder)
            return (self.optimizers.known(inner(holder)) if known is None else known).slots
        cells = self.journal.cells
        slots = (cells.slot(parameter) for parameter in holder.parameters())
        return tuple(slot for slot in slots if slot is not None)

    def _tell(self, slots: Slots, at: Place) -> None:
        cells = self.journal.cells
        before, states = cells.seen, cells.states(slots)
        if not any(states):
            if len(slots) == len(before):
                cells.seen = states
            else:
                for slot in slots:
                    before[slot] = None
            self._cleared(slots, at, to_none=True)
            return
        found = list(zip(slots, states, strict=True))
        to_none = tuple(slot for slot, state in found if state is None)
        to_zeros = tuple(
            slot
            for slot, state in found
            if state is not None and (state != before[slot] or _zeros(cells.leaf(slot)))
        )
        for slot, state in found:
            before[slot] = state
        self._cleared(to_none, at, to_none=True)
        self._cleared(to_zeros, at, to_none=False)

    def _cleared(self, slots: Slots, at: Place, *, to_none: bool) -> None:
        if slots:
            journal = self.journal
            self.backwards.cleared(slots)
            journal.post(journal.made(Clear, at, journal.cells.names_of(slots), to_none))

    # Where to clear unspent gradients is right

    def _something_unspent(self) -> bool:
        page = self.journal.book.page
        if page is not self._page:
            self._page, self._unspent = page, any(cell.fresh for _, cell in page.groups)
        return self._unspent

    def _excuse(self, slots: Slots, at: Place, frame: FrameType) -> None:
        """Who drops what is not finite, or clears inside an optimizer's own method, is careful."""
        cells = self.journal.cells
        leaves = [leaf for slot in slots if (leaf := cells.leaf(slot)) is not None]
        grads = [leaf.grad for leaf in leaves if leaf.grad is not None]
        if _inside_optimizer(frame) or not all_finite(grads):
            self.journal.post(self.journal.made(Read, at, cells.named(leaves)))


def _zeros(leaf: Tensor | None) -> bool:
    return leaf is not None and leaf.grad is not None and not bool(leaf.grad.any())


def _inside_optimizer(frame: FrameType | None) -> bool:
    """Was the call made by a method of an optimizer other than `zero_grad` (SAM's `first_step`)?"""
    while frame is not None and frame.f_code.co_name == "zero_grad":
        frame = frame.f_back
    return frame is not None and isinstance(variables(frame).get("self"), Optimizer)
