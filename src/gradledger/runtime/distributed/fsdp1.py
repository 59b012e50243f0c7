"""Watches FSDP1 (`FullyShardedDataParallel`): what a pass deposits into flat parameters.

FSDP1 lays the parameters of a module end to end in a flat one, which the graph ends in. Optimizers
hold the flat one, or, with `use_orig_params=True`, views of this rank's part of it. It exchanges
`.grad` in each pass, so that neither its identity nor its version says what was deposited.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from typing import Any

from torch import Tensor

from gradledger.runtime.journal.cells import WAITS, State, grad_of
from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Function, Patches

MODULE = "torch.distributed.fsdp"
RUNTIME = "torch.distributed.fsdp._runtime_utils"
"""Private, as are all names of FSDP1 that stand here."""
HOOK = "_post_backward_hook"
HANDLE, FLAT, SYNCS = "_handle", "flat_param", "_sync_gradients"
ORIGINALS, SAVED = "_params", "_saved_grad_shard"


class FlatSharded:
    """Which cells a pass through a flat parameter has deposited into."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.deposits: set[int] = set()
        """The slots that the pass at hand has deposited into, as far as that was not told."""
        self.local: set[int] = set()
        """Those whose gradients the ranks have not averaged."""
        self.flats: set[int] = set()
        """The slots of flat parameters that no optimizer holds: no cells."""
        self.handles: dict[int, weakref.ref[Any]] = {}
        """By slot. Empty where nothing is sharded by FSDP1."""
        self._all: weakref.WeakSet[Any] = weakref.WeakSet()
        self._begun = False

    def begin_if_loaded(self, patches: Patches) -> bool:
        """Audit FSDP1 until the patches are closed, once it is imported; False if it can't be."""
        kind = getattr(sys.modules.get(MODULE), "FullyShardedDataParallel", None)
        if self._begun or kind is None:
            return True
        self._begun = True
        runtime = sys.modules.get(RUNTIME)
        if runtime is None or not hasattr(runtime, HOOK):
            return False
        patches.around(kind, "forward", self._around_forward)
        patches.around(runtime, HOOK, self._around_post_backward)
        return True

    def _around_forward(self, real: Function) -> Function:
        def forward(module: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.journal.asleep:
                self._register(getattr(module, HANDLE, None))
            return real(module, *args, **kwargs)

        return forward

    def _around_post_backward(self, real: Function) -> Function:
        def post_backward(state: Any, handle: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.journal.asleep:
                self._arrives(state, handle)
            return real(state, handle, *args, **kwargs)

        return post_backward

    @unfailing
    def _register(self, handle: Any) -> None:
        if handle is None:
            return
        cells = self.journal.cells
        self._all.add(handle)
        for leaf in _held(handle):
            slot = cells.slot(leaf)
            known = None if slot is None else self.handles.get(slot)
            if slot is not None and (known is None or known() is not handle):
                self.handles[slot] = weakref.ref(handle)
                cells.parts.add(slot)
        flat = cells.slot(getattr(handle, FLAT))
        if flat is not None and flat not in self.handles:
            self.flats.add(flat)

    @unfailing
    def _arrives(self, state: Any, handle: Any) -> None:
        """A pass has gone through a flat parameter, and its whole gradient is there."""
        journal, cells = self.journal, self.journal.cells
        if grad_of(getattr(handle, FLAT)) is None:
            return
        with journal.entering:
            leaves = [leaf for leaf in _held(handle) if leaf.requires_grad]
            if any(cells.slot(leaf) is None for leaf in leaves):
                journal.meet(leaves, journal.places.last)
            self._register(handle)
            slots = {slot for leaf in leaves if (slot := cells.slot(leaf)) is not None}
            self.deposits |= slots
            if getattr(state, SYNCS, True):
                self.local -= slots
            else:
                self.local |= slots

    def forget(self, slots: list[int]) -> None:
        """Others may have these slots next."""
        for slot in slots:
            self.handles.pop(slot, None)
        self.local.difference_update(slots)
        self.flats.difference_update(slots)

    def owners(self) -> dict[int, list[Tensor]]:
        """By the identity of a flat parameter, what optimizers hold instead."""
        return {id(getattr(handle, FLAT)): list(_held(handle)) for handle in self._all}

    def part(self, slot: int, grad: Tensor | None) -> tuple[Tensor | None, State]:
        """The gradient in this slot, and what it looks like: its identity says nothing."""
        known = self.handles[slot]()
        if grad is None and known is not None:
            if getattr(getattr(known, FLAT), SAVED, None) is not None:
                return None, (WAITS, 0)
            # All of this one may lie on other ranks: others of the same flat one tell.
            versions = [
                grad._version for leaf in _held(known) if (grad := grad_of(leaf)) is not None
            ]
            return None, (WAITS, sum(versions)) if versions else None
        return grad, None if grad is None else (WAITS, grad._version)


def _held(handle: Any) -> Iterator[Tensor]:
    """What optimizers hold of a flat parameter: it, or the views that it is made of."""
    flat = getattr(handle, FLAT)
    originals = getattr(flat, ORIGINALS, None)
    return iter([flat] if originals is None else originals)
