"""What each rank trains on, and what goes wrong there: for the ranks, and for one big batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Optimizer

from tests.engine.loops import Batch, Boom, big_batches, micro_batches, windows

Fault = Literal["data", "forward", "loss", "backward", "nan"]
Spot = tuple[int, int, int]
"""A rank, an epoch, and which of its micro-batches."""


@dataclass(frozen=True)
class Schedule:
    """A training run over some ranks."""

    sizes: tuple[tuple[int, ...], ...]
    """For each rank, the rows of its micro-batches."""
    accumulate: int = 2
    epochs: int = 2
    faults: dict[Spot, Fault] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    """Of the Stepper."""
    adam: bool = True
    spread: dict[str, Any] = field(default_factory=dict)
    """Of DDP, or of fully_shard."""
    rows: bool = True
    """Says how many items there are."""

    def data(self, rank: int, epoch: int) -> list[Batch]:
        """What a rank sees, the same each time."""
        found = micro_batches(*self.sizes[rank], seed=100 * epoch + rank)
        for (r, e, i), fault in self.faults.items():
            if (r, e, fault) == (rank, epoch, "nan"):
                found[i][0][0, 0] = torch.nan
        return found

    def fault(self, rank: int, epoch: int, i: int) -> Fault | None:
        """What goes wrong with this micro-batch."""
        return self.faults.get((rank, epoch, i))

    def optimizer(self, model: nn.Module) -> Optimizer:
        """One that has moments, and shrinks what gets no gradient."""
        if self.adam:
            return AdamW(model.parameters(), 0.01, eps=1e-3, weight_decay=0.1)
        return SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=0.1)

    # What should come out -------------------------------------------------------------------------

    def expected(self, epoch: int) -> tuple[list[list[Batch]], int]:
        """The big batches of an epoch, and how many windows are dropped.

        Windows go by position on every rank. A backward that fails while the ranks meet takes the
        whole window with it.
        """
        each = [windows(self.data(r, epoch), self.accumulate) for r in range(len(self.sizes))]
        found: list[list[Batch]] = []
        dropped = 0
        for w in range(max(map(len, each))):
            together: list[Batch] = []
            fails = False
            for rank, mine in enumerate(each):
                for j, batch in enumerate(mine[w] if w < len(mine) else []):
                    fault = self.fault(rank, epoch, w * self.accumulate + j)
                    if fault in (None, "nan"):
                        together.append(batch)
                    elif self.options.get("on_fault") == "drop":
                        fails = True
                    else:
                        fails |= fault == "backward" and j == self.accumulate - 1
            dropped += fails
            found.append([] if fails else together)
        return found, dropped


class Fragile(nn.Module):
    """Two layers. Told to, it fails between their gradients."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.first = nn.Linear(5, 7).double()
            self.last = nn.Linear(7, 3).double()
        self.fails: Fault | None = None

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.first(x).tanh()
        if self.fails == "forward":
            raise Boom("in the forward")
        if self.fails == "backward":
            hidden.register_hook(fail)
        out: Tensor = self.last(hidden)
        return out * 1.0  # FSDP2 warns of views, which a linear layer gives


def fail(_: Tensor) -> None:
    raise Boom("in the backward")


class Data:
    """Batches, of which some raise in place of being there. Goes on behind them."""

    def __init__(self, schedule: Schedule, rank: int, epoch: int, *, length: bool) -> None:
        self._all = schedule.data(rank, epoch)
        self._bad = {i for i in range(len(self._all)) if schedule.fault(rank, epoch, i) == "data"}
        if length:
            self.__class__ = DataWithLength

    def __iter__(self) -> Iterator[tuple[int, Batch]]:
        return _Batches(self._all, self._bad)


class DataWithLength(Data):
    """Says how much there is."""

    def __len__(self) -> int:
        return len(self._all)


class _Batches(Iterator[tuple[int, Batch]]):
    def __init__(self, batches: list[Batch], bad: set[int]) -> None:
        self._left = list(enumerate(batches))
        self._bad = bad

    def __next__(self) -> tuple[int, Batch]:
        if not self._left:
            raise StopIteration
        i, batch = self._left.pop(0)
        if i in self._bad:
            raise Boom("in the data")
        return i, batch


def reference(schedule: Schedule) -> tuple[dict[str, Tensor], int, int]:
    """The weights after the big batches, how many updates there were, and how many drops."""
    model = Fragile()
    optimizer = schedule.optimizer(model)
    clip = schedule.options.get("clip_norm") or torch.inf
    updates = drops = 0
    for epoch in range(schedule.epochs):
        each, dropped = schedule.expected(epoch)
        each = [w for w in each if not any(x.isnan().any() for x, _ in w)]
        big_batches(model, optimizer, each, clip_norm=clip)
        updates += sum(map(bool, each))
        drops += dropped
    return dict(model.state_dict()), updates, drops
