"""Which Stepper the ranks meet for, where a program has several: they agree on it before.

Meetings are matched by their order alone. With two nets, a rank that has left out the backward of
the first, or has no more data, would be at another meeting than the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NoReturn
from weakref import WeakMethod

import torch
import torch.distributed as dist

from gradledger.engine.ranks.table import beside
from gradledger.errors import RankFailure

HISTORY = 64
"""Meetings that are remembered, to know in which order they come."""


class Claim(IntEnum):
    """What a rank comes to a meeting for. The strongest claims of all ranks are heard first."""

    LOSS = 0
    """It walks back now: the rank can't be elsewhere first."""
    END = 1
    """Its window ends, and has got all that it will get."""
    NONE = 2
    """Its data has ended: it attends what others have."""


class Agenda:
    """One for all Steppers over the same ranks. As long as there is one Stepper, it costs nothing.

    A rank that has no loss goes along to the meeting of those that have one.
    """

    def __init__(self, group: dist.ProcessGroup) -> None:
        self._group = beside(group)
        self._seats: list[WeakMethod[Callable[[], None]]] = []
        self._held: list[int] = []
        self._called: int | None = None
        """A meeting that was agreed on and has not ended: the others are in it."""

    def enrol(self, attend: Callable[[], None]) -> int:
        """The number of a Stepper. `attend` takes part in its meeting with what is there."""
        self._seats.append(WeakMethod(attend))
        return len(self._seats) - 1

    @property
    def stands(self) -> bool:
        """Whether its ranks still have the process group."""
        return self._group in dist.distributed_c10d._world.pg_map

    def call(self, number: int, claim: Claim) -> None:
        """Comes back when it is the turn of this Stepper's meeting; until then attends others'."""
        if len(self._seats) == 1 or self._called == number:
            return
        if self._called is not None and self._seats[self._called]() is not None:
            self._attend(self._called)  # its backward failed, after the ranks had agreed on it
        while (agreed := self._agree(number, claim)) != number:
            self._attend(agreed)
        self._called = number

    def close(self) -> None:
        """The meeting has ended."""
        self._called = None

    def _attend(self, number: int) -> None:
        self._called = number
        attend = self._seats[number]()
        if attend is None:
            raise RankFailure(
                f"the ranks do different things: this one has no Stepper {number + 1} any more, "
                "and others go on with it. Keep it as long as they do."
            )
        attend()

    def _agree(self, number: int, claim: Claim) -> int:
        """Says what this rank has come for, and gives what all go to."""
        numbers = torch.zeros(len(Claim), len(self._seats))
        numbers[claim, number] = 1
        dist.all_reduce(numbers, group=self._group)
        strongest = Claim(int(numbers.any(1).int().argmax()))
        wanted: list[int] = numbers[strongest].nonzero().flatten().tolist()
        agreed = wanted[0]
        if len(wanted) > 1 and strongest is Claim.LOSS:
            due = self._due(wanted)
            if due is None:
                self._fail(number, wanted)
            agreed = due
        self._held = [*self._held, agreed][-HISTORY:]
        return agreed

    def _due(self, wanted: list[int]) -> int | None:
        """Which of these comes first, if they took turns so far."""
        turns = len(wanted)
        held = [one for one in self._held if one in wanted][-2 * turns :]
        regular = len(held) == 2 * turns and held[:turns] == held[turns:]
        return held[0] if regular and len(set(held)) == turns else None

    def _fail(self, number: int, wanted: list[int]) -> NoReturn:
        found: list[Any] = [None] * dist.get_world_size(self._group)
        dist.all_gather_object(found, number, group=self._group)
        at = [
            f"rank {', '.join(str(rank) for rank, one in enumerate(found) if one == which)} is at "
            f"Stepper {which + 1}"
            for which in wanted
        ]
        raise RankFailure(
            f"the ranks do different things: {'; '.join(at)}, counted as they were made. Did one "
            "catch an exception, and go on with the next net? Leave the turn there, with continue."
        )


_agendas: list[Agenda] = []


def agenda_of(group: dist.ProcessGroup) -> Agenda:
    """The one of these ranks; the first to ask makes it, on all ranks at the same time."""
    _agendas[:] = [agenda for agenda in _agendas if agenda.stands]
    ranks = dist.get_process_group_ranks(group)
    for agenda in _agendas:
        if dist.get_process_group_ranks(agenda._group) == ranks:
            return agenda
    _agendas.append(Agenda(group))
    return _agendas[-1]
