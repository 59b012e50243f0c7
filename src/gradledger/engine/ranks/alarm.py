"""A rank that can't go on tells the others why, where they will look when they can't either."""

from __future__ import annotations

from typing import NoReturn

from gradledger.errors import RankFailure

_stands = 0
"""Every rank makes the same Steppers in the same order."""


class Alarm:
    """One for each Stepper, in the store that the ranks have met in: no collective can block it."""

    def __init__(self, rank: int) -> None:
        from torch.distributed.distributed_c10d import _get_default_store  # some have none

        global _stands
        _stands += 1
        self._key = f"gradledger/alarm/{_stands}"
        self._rank = rank
        self._store = _get_default_store()

    def ring(self, cause: str, where: str, error: BaseException | None = None) -> NoReturn:
        """Raises RankFailure, here and on every rank that gets as far as asking."""
        mine = f"rank {self._rank} {where}: {cause}"
        # The first to ring is the cause; who comes later has suffered from it.
        first = self._store.compare_set(self._key, "", mine).decode()
        raise RankFailure(
            f"{first}. The ranks of a sharded model can't go on without each other. Weights are "
            "those of the last update: end this process, and go on from a checkpoint."
        ) from error

    def check(self) -> None:
        """Raises RankFailure if somebody has rung."""
        if self._store.check([self._key]):
            self.ring("", "")
