"""Backward passes that are running, and which cells they may be writing to.

Torch writes to gradients without Python's lock: to read one that the pass of another thread is just
writing would crash. What a pass reaches is looked for only where several threads make passes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from torch import Tensor

from gradledger.runtime.cells import Cells
from gradledger.runtime.graphs import leaves, nodes, tensors

NO_SLOTS: frozenset[int] = frozenset()


class Walk:
    """A pass from its roots."""

    __slots__ = ("inputs", "nested", "reach", "roots")

    def __init__(self, roots: list[Tensor], inputs: object = None) -> None:
        self.roots = roots
        self.inputs = inputs
        """The only tensors that it may write to the gradients of, if it was told."""
        self.reach: frozenset[int] | None = None
        """The slots that it may write to, once somebody has to know."""
        self.nested = False
        """It has made others in its midst (checkpoints) whose graphs nobody has looked at."""


UNWATCHED = Walk([])
"""Any pass while nobody watches."""
UNWATCHED.reach = NO_SLOTS


class Walks:
    """The pass of each thread that is in one."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self.running: dict[int, Walk] = {}
        self._threads: set[int] = set()
        self.shared = False
        """Several threads make passes, or gradients share their memory: what looks as if it had
        changed may have been changed by others, so a pass looks only at what it reaches."""
        cells.elsewhere = self.elsewhere

    def enters(self, thread: int) -> None:
        """A thread is about to make a pass."""
        if thread not in self._threads:
            self._threads.add(thread)
            self.shared = self.shared or len(self._threads) > 1

    def begin(self, thread: int, walk: Walk) -> None:
        """It goes into the pass."""
        self.running[thread] = walk
        if self.shared:
            for each in list(self.running.values()):
                self.reach(each)

    def inside(self, walk: Walk, roots: list[Tensor]) -> None:
        """A pass makes another one in its midst."""
        if walk.reach is None:
            walk.nested = True
        elif walk.inputs is None:
            walk.reach |= self._slots(roots)

    def reach(self, walk: Walk) -> frozenset[int]:
        """The slots that it may write to, of the leaves that have been met."""
        if walk.reach is None:
            given = walk.inputs
            if given is None:
                walk.reach = self._slots(walk.roots)
            else:
                walk.reach = self.met(tensors([given] if isinstance(given, Tensor) else given))
        return walk.reach

    def _slots(self, roots: list[Tensor]) -> frozenset[int]:
        return self.met(leaves(roots, nodes(roots)))

    def met(self, found: Iterable[Tensor]) -> frozenset[int]:
        """The slots of the leaves that have been met."""
        slots = map(self._cells.slot, found)
        return frozenset(slot for slot in slots if slot is not None)

    @property
    def alone(self) -> bool:
        """Is no other thread in a pass?"""
        return not self.running.keys() - {threading.get_ident()}

    def elsewhere(self) -> frozenset[int]:
        """The slots that other threads may be writing to just now."""
        thread = threading.get_ident()
        others = [walk for other, walk in list(self.running.items()) if other != thread]
        return NO_SLOTS.union(*map(self.reach, others)) if others else NO_SLOTS
