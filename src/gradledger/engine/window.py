"""The window: which micro-batches it has, and what each of them weighs (Law 3)."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor


@dataclass(slots=True)
class MicroBatch:
    """One turn of the loop."""

    drawn: bool
    """By `over`, which also says when it ends; else one backward is all of it."""
    batch: object = None
    items: float | None = None
    pending: bool = False
    """A loss was deposited, and another was promised."""
    torn: bool = False
    """It failed after that: the earlier losses are gone."""
    complete: bool = False
    given_up: bool = False
    """Its window was dropped while it went on, on many ranks."""
    kept: tuple[Tensor, ...] = ()
    """Losses that walk back together with the last: on many ranks, where that is the only one in
    which the ranks meet."""


@dataclass(slots=True)
class Window:
    """All that one update spends.

    A deposit weighs as many items as it has, counted in those of the first: equal micro-batches
    weigh 1 exactly, and low precision never sees a large factor.
    """

    size: int
    turn: MicroBatch | None = None
    """The micro-batch that goes on now, or has just ended."""
    begun: int = 0
    """Micro-batches begun, those that failed too: windows are made by position."""
    deposits: int = 0
    weight: float = 0.0
    first_items: float = 0.0
    dropped: bool = False
    losses: list[tuple[int, Tensor]] = field(default_factory=list)
    """Which micro-batch had which loss: read only to name a culprit."""

    def restart(self) -> None:
        """Begins the next one."""
        self.begun = 0
        self.dropped = False
        self.empty()

    def empty(self) -> None:
        """Forgets its deposits."""
        self.deposits = 0
        self.weight = self.first_items = 0.0
        self.losses.clear()

    @property
    def full(self) -> bool:
        return self.begun >= self.size

    @property
    def open(self) -> bool:
        """Something in it waits to be spent."""
        return self.deposits > 0 and not self.dropped

    def weigh(self, items: float) -> float:
        """What a deposit of so many items is multiplied by when it is added up."""
        return items / self.first_items if self.deposits else 1.0

    def add(self, items: float) -> None:
        """Counts a deposit."""
        if not self.deposits:
            self.first_items = items
        self.weight += self.weigh(items)
        self.deposits += 1
