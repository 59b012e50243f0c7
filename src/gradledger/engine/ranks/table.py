"""The round table: a few numbers from every rank, added up, once for each window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

T = TypeVar("T")


@dataclass(frozen=True)
class Word:
    """What the ranks have to say at the end of a window: one of them, or all together."""

    items: float
    """Of all micro-batches that were deposited."""
    deposits: int
    present: int
    """Ranks with a deposit."""
    itemless: int
    """Those of them that did not say how many items they have."""
    dropped: int
    """Ranks that give up the window, and so do all."""
    ended: int
    """Ranks whose data has ended."""
    reached: tuple[bool, ...]
    """Which cells got a deposit."""

    def numbers(self) -> list[float]:
        """As they travel."""
        counts = (self.deposits, self.present, self.itemless, self.dropped, self.ended)
        return [float(number) for number in (self.items, *counts, *self.reached)]

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Word:
        """As they arrive."""
        items, *rest = numbers
        deposits, present, itemless, dropped, ended = map(round, rest[:5])
        reached = tuple(number > 0 for number in rest[5:])
        return cls(items, deposits, present, itemless, dropped, ended, reached)


class Table:
    """Where the ranks of a process group sit. Its words travel beside the gradients.

    A group of its own, on the CPU: what is said here is not ordered with the program's collectives,
    goes on while backward does, and still works when the group of the gradients no longer does.
    """

    def __init__(self, group: dist.ProcessGroup) -> None:
        self.rank = dist.get_rank(group)
        self.size = dist.get_world_size(group)
        self._group = beside(group)
        self._said: tuple[Tensor, dist.Work] | None = None
        self._counted: tuple[Tensor, dist.Work] | None = None

    def say(self, word: Word) -> None:
        """Tells it to the others, without waiting for them."""
        numbers = torch.tensor(word.numbers(), dtype=torch.float64)
        work = dist.all_reduce(numbers, group=self._group, async_op=True)
        assert work is not None
        self._said = numbers, work

    def hear(self) -> Word:
        """What all have said, together. Waits for them."""
        assert self._said is not None
        (numbers, work), self._said = self._said, None
        work.wait()
        return Word.of(numbers.tolist())

    def largest(self, number: float) -> float:
        """The largest that a rank has. Waits for all."""
        numbers = torch.tensor([number], dtype=torch.float64)
        dist.all_reduce(numbers, op=dist.ReduceOp.MAX, group=self._group)
        return float(numbers)

    def agree(self, numbers: Sequence[float]) -> bool:
        """Whether all ranks have the same. Waits for all."""
        there = torch.tensor([*numbers, *(-each for each in numbers)], dtype=torch.float64)
        dist.all_reduce(there, op=dist.ReduceOp.MAX, group=self._group)
        largest, smallest = there[: len(numbers)], -there[len(numbers) :]
        return bool(torch.equal(largest, smallest))

    def count(self, *, present: bool) -> None:
        """Says whether this rank has another micro-batch, without waiting."""
        number = torch.tensor([float(present)], dtype=torch.float64)
        work = dist.all_reduce(number, group=self._group, async_op=True)
        assert work is not None
        self._counted = number, work

    def counted(self, *, present: bool) -> int:
        """Says it, and gives how many have one. Waits for all."""
        self.count(present=present)
        assert self._counted is not None
        number, work = self._counted
        work.wait()
        return round(float(number))

    def gather(self, something: T) -> list[T]:
        """What every rank has, in their order. Waits for all."""
        found: list[Any] = [None] * self.size
        dist.all_gather_object(found, something, group=self._group)
        return found

    def ask(self, answer: str) -> list[str]:
        """What every rank answers, in their order. All must ask: when all know the reason."""
        return self.gather(answer)


def beside(group: dist.ProcessGroup) -> dist.ProcessGroup:
    """Another group of the same ranks, on the CPU. Only they have to come here."""
    # torch names it by its ranks and by how many groups there are on this one. Ranks that are in
    # different numbers of groups would wait for each other under different names.
    names: Any = dist.distributed_c10d._world.pg_names
    counts: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(counts, len(names), group=group)
    padding = [object() for _ in range(max(counts) - len(names))]
    names.update((each, "") for each in padding)
    try:
        new: dist.ProcessGroup = dist.new_group(
            dist.get_process_group_ranks(group),
            timeout_of(group),
            backend="gloo",
            use_local_synchronization=True,
        )
        return new
    finally:
        for each in padding:
            del names[each]


def timeout_of(group: dist.ProcessGroup) -> timedelta | None:
    """How long the group's own collectives wait: whoever has shortened that means ours, too."""
    try:
        device = group._device_types[0]
        timeout: Any = group._get_backend(device).options._timeout
    except (AttributeError, IndexError, RuntimeError):  # torch has no public way to ask
        return None
    return timeout if isinstance(timeout, timedelta) else None
