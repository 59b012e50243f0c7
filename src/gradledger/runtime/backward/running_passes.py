"""Backward passes that are running, and which cells they may be writing to.

Torch writes to gradients without Python's lock: to read one that the pass of another thread is just
writing would crash. What a pass reaches is looked for only where several threads make passes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from torch import Tensor

from gradledger.ledger.events import CellNames
from gradledger.runtime.journal.cells import Cells
from gradledger.runtime.tensors.graphs import leaves, nodes, tensors

NO_SLOTS: frozenset[int] = frozenset()


class RunningPass:
    """A pass from its roots."""

    # What is the same for most passes is in the class: one is made in every step.

    reach: frozenset[int] | None = None
    """The slots that it may write to, once that is needed."""
    nested = False
    """It has made others in its midst (checkpoints) whose graphs weren't looked at."""

    def __init__(self, roots: list[Tensor], inputs: object = None) -> None:
        self.roots = roots
        self.inputs = inputs
        """The only tensors that it may write to the gradients of, if it was told."""


UNWATCHED = RunningPass([])
"""Any pass while nothing is audited."""
UNWATCHED.reach = NO_SLOTS


class RunningPasses:
    """The pass of each thread that is in one."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self.running: dict[int, RunningPass] = {}
        self.threads: set[int] = set()
        """Those that have made passes."""
        self.threaded = False
        """Have several threads made passes?"""
        self.shared = False
        """Several threads make passes, or gradients share their memory: what looks as if it had
        changed may have been changed by others, so a pass looks only at what it reaches."""
        cells.elsewhere = self.elsewhere
        self.owners: Callable[[list[Tensor]], list[Tensor]] = list
        """Puts shards in the place of the whole parameters that are made of them."""
        self._trained: dict[int, set[int]] = {}
        """For each thread the slots that it has worked with, since there are several."""
        self._passes: dict[int, int] = {}
        """The passes that each has made since."""

    def enters(self, thread: int) -> None:
        """A thread is about to make a pass."""
        if thread not in self.threads:
            self.threads.add(thread)
            self.threaded = len(self.threads) > 1
            self.shared = self.shared or self.threaded

    def begin(self, thread: int, walk: RunningPass) -> None:
        """It goes into the pass."""
        self.running[thread] = walk
        if self.shared:
            for each in list(self.running.values()):
                self.reach(each)
            self.trains(thread, walk.reach or NO_SLOTS)
            self._passes[thread] = self._passes.get(thread, 0) + 1

    # Trainings

    def trains(self, thread: int, slots: Iterable[int]) -> None:
        """A thread has worked with these."""
        self._trained.setdefault(thread, set()).update(slots)

    def forget(self, slots: Iterable[int]) -> None:
        """Others may have these slots next."""
        for trained in self._trained.values():
            trained.difference_update(slots)

    @property
    def together(self) -> tuple[int, CellNames | None]:
        """How many passes were made for, and what is trained by, this thread and all that work with
        the same cells; None where there is one training only."""
        if not self.threaded:
            return 0, None
        threads = {threading.get_ident()}
        slots = set(self._trained.get(threading.get_ident(), ()))
        before = -1
        while before != len(threads):
            before = len(threads)
            for thread, trained in self._trained.items():
                if not slots.isdisjoint(trained):
                    threads.add(thread)
                    slots |= trained
        passes = sum(self._passes.get(thread, 0) for thread in threads)
        return passes, self._cells.names_of(tuple(sorted(slots)))

    # What they reach

    def inside(self, walk: RunningPass, roots: list[Tensor]) -> None:
        """A pass makes another one in its midst."""
        if walk.reach is None:
            walk.nested = True
        elif walk.inputs is None:
            walk.reach |= self._slots(roots)

    def reach(self, walk: RunningPass) -> frozenset[int]:
        """The slots that it may write to, of the leaves that have been met."""
        if walk.reach is None:
            given = walk.inputs
            if given is None:
                walk.reach = self._slots(walk.roots)
            else:
                walk.reach = self.met(tensors([given] if isinstance(given, Tensor) else given))
        return walk.reach

    def _slots(self, roots: list[Tensor]) -> frozenset[int]:
        return self.met(self.owners(leaves(roots, nodes(roots))))

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
