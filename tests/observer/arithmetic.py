"""Watches arithmetic on losses: where one is divided, and sums that keep their graph."""

from __future__ import annotations

import weakref
from collections import Counter
from typing import Any

from torch import Tensor

from gradledger.ledger.events import Keep, Release
from gradledger.ledger.places import Place
from tests.observer.backwards import KEPT
from tests.observer.graphs import mark
from tests.observer.journal import Journal
from tests.observer.patches import Function, Patches
from tests.observer.weights import DIVIDED


class Arithmetic:
    """Writes `Keep` and `Release` of sums, and marks divisions with their place."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._sums: dict[int, weakref.finalize[Any, Tensor]] = {}
        """What becomes of each sum that exists as a tensor."""
        self._alive: Counter[Place] = Counter()
        """How many sums made at a place still exist, in themselves or in a larger one."""
        self._new: list[Place] = []
        self._dropped: list[Place] = []

    def watch(self, patches: Patches) -> None:
        """Observe arithmetic until the patches are closed."""
        for name in ("__add__", "__radd__", "__iadd__"):
            patches.around(Tensor, name, self._around_sum)
        for name in ("__truediv__", "__itruediv__", "__mul__", "__rmul__", "__imul__"):
            patches.around(Tensor, name, self._around_division)
        self.journal.before_posting.append(self._tell)

    def _around_sum(self, real: Function) -> Function:
        def add(left: Tensor, right: Any) -> Any:
            result = real(left, right)
            if not _is_loss(result) or self.journal.at_work:
                return result
            at = self.journal.here()
            made_at = (at, *self._absorbed(left), *self._absorbed(right))
            self._sums[id(result)] = weakref.finalize(result, self._collect, id(result), made_at)
            self._alive[at] += 1
            self._new.append(at)
            mark(result.grad_fn, KEPT, at)
            return result

        return add

    def _absorbed(self, part: Any) -> tuple[Place, ...]:
        """A sum that goes into a larger one lives on in its graph, and dies with that one."""
        watched = self._sums.pop(id(part), None)
        found = watched.detach() if watched is not None else None
        if found is None:
            return ()
        made_at: tuple[Place, ...] = found[2][1]
        return made_at

    def _collect(self, number: int, made_at: tuple[Place, ...]) -> None:
        # Called whenever Python collects the tensor, so it only takes a note.
        self._sums.pop(number, None)
        self._alive.subtract(made_at)
        self._dropped += made_at

    def _tell(self) -> None:
        """Write down which sums are gone and which are new, where the statements are done by now.

        In `loss = a + b` the last iteration's sum goes only after the new one is made: it was
        overwritten, not added to.
        """
        new, self._new = self._new, []
        dropped, self._dropped = self._dropped, []
        for at in dict.fromkeys(dropped):
            if self._alive[at] <= new.count(at):
                self.journal.post(Release(self.journal.here(), at))
        for at in new:
            if self._alive[at] > 0:
                self.journal.post(Keep(at, "loss"))

    def _around_division(self, real: Function) -> Function:
        def divide(left: Tensor, right: Any) -> Any:
            result = real(left, right)
            if _is_loss(result):
                mark(result.grad_fn, DIVIDED, self.journal.here())
            return result

        return divide


def _is_loss(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dim() == 0 and value.grad_fn is not None
