"""Watches `zero_grad`, of optimizers and of modules."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from torch import Tensor, nn
from torch.optim.optimizer import Optimizer

from gradledger.ledger.events import Clear, Read
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place
from gradledger.runtime.backward.backwards import Backwards
from gradledger.runtime.gradients.device_checks import DeviceChecks
from gradledger.runtime.journal.cells import Slots
from gradledger.runtime.journal.crash_guard import survive
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Function, Patches, definers
from gradledger.runtime.optimizers.optimizers import Optimizers, inner
from gradledger.runtime.program.objects import is_a, parameters_in
from gradledger.runtime.program.variables import variables
from gradledger.runtime.tensors.devices import here
from gradledger.runtime.tensors.dtensors import local_part
from gradledger.runtime.tensors.finiteness import all_finite
from gradledger.runtime.tensors.torch_names import compiler


class Clears:
    """Writes a `Clear` for what a call really cleared."""

    def __init__(
        self,
        journal: Journal,
        backwards: Backwards,
        optimizers: Optimizers,
        checks: DeviceChecks,
    ) -> None:
        self._checks = checks
        self.journal = journal
        self.backwards = backwards
        self.optimizers = optimizers
        self._page: Page | None = None
        self._unspent = False
        """Whether something was unspent on that page."""
        self._latest: tuple[Place | None, Slots, Clear | None] = None, (), None
        """The latest clear to None: where, of what, and the event."""

    def watch(self, patches: Patches) -> None:
        """Audit `zero_grad` until the patches are closed."""
        for optimizer in definers(Optimizer, "zero_grad"):
            patches.around(optimizer, "zero_grad", self._around)
        patches.around(nn.Module, "zero_grad", self._around)

    def _around(self, real: Function) -> Function:
        journal, thread, at_hand = self.journal, self.journal.thread, self.optimizers.at_hand

        def zero_grad(holder: Any, *args: Any, **kwargs: Any) -> Any:
            if journal.asleep or compiler._is_compiling_flag or (work := thread.work).hushed:
                return real(holder, *args, **kwargs)
            if work.depth:
                self.backwards.tell_so_far()
                if work.depth > 1:
                    return real(holder, *args, **kwargs)
            try:
                at, known = journal.arrive_at(frame := sys._getframe(1)), at_hand(holder)
                slots = self._slots(holder) if known is None else known.slots
                if journal.book.page is not self._page:
                    self._turn(journal.book.page)
                if self._unspent:
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
            return self.optimizers.known(inner(holder)).slots
        cells = self.journal.cells
        slots = (cells.slot(parameter) for _, parameter in parameters_in(holder))
        return tuple(slot for slot in slots if slot is not None)

    def _tell(self, slots: Slots, at: Place) -> None:
        cells = self.journal.cells
        before = cells.seen
        if cells.empty(slots):
            if len(slots) == len(before):
                cells.seen = [None] * len(before)
            else:
                for slot in slots:
                    before[slot] = None
            self._cleared(slots, at, to_none=True)
            return
        found = list(zip(slots, cells.states(slots), strict=True))
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
        if not slots:
            return
        journal = self.journal
        self.backwards.cleared(slots)
        # The same as last time is quicker to know again than to look up.
        where, which, event = self._latest
        if event is None or where is not at or which is not slots or not to_none:
            event = journal.made(Clear, at, journal.cells.names_of(slots), to_none)
            if to_none:
                self._latest = at, slots, event
        journal.enter(event)

    # Where to clear unspent gradients is right

    def _turn(self, page: Page) -> None:
        self._page, self._unspent = page, any(cell.fresh for _, cell in page.groups)

    def _excuse(self, slots: Slots, at: Place, frame: FrameType) -> None:
        """Who drops what is not finite, or clears inside an optimizer's own method, is careful."""
        cells = self.journal.cells
        leaves = [leaf for slot in slots if (leaf := cells.leaf(slot)) is not None]
        grads = [local_part(leaf.grad) for leaf in leaves if leaf.grad is not None]
        careful = _inside_optimizer(frame) or not all_finite(grads)
        if careful or self._checks.dropped(leaves, at):
            self.journal.post(self.journal.made(Read, at, cells.named(leaves)))


def _zeros(leaf: Tensor | None) -> bool:
    if leaf is None or leaf.grad is None or not here(leaf.grad):
        return False
    return not bool(local_part(leaf.grad).any())


def _inside_optimizer(frame: FrameType | None) -> bool:
    """Was the call made by a method of an optimizer other than `zero_grad` (SAM's `first_step`)?"""
    while frame is not None and frame.f_code.co_name == "zero_grad":
        frame = frame.f_back
    return frame is not None and is_a(variables(frame).get("self"), Optimizer)
