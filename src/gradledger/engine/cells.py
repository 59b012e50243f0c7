"""The cells that a loss may deposit into, in the order in which the sums take them up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from operator import attrgetter

from torch import Tensor

from gradledger.engine.ownership import gradient_of
from gradledger.engine.packs import Pack
from gradledger.engine.walks import collectable

# Read from every parameter in every micro-batch: without a Python frame for each.
_trainable = attrgetter("requires_grad")
_hooks = attrgetter("_post_accumulate_grad_hooks")


class Cells:
    """Those of the packs' members first, pack by pack, and behind them those of what is loose."""

    def __init__(self, packs: Sequence[Pack], loose: Sequence[Tensor]) -> None:
        members = [p for pack in packs for p in pack.members]
        self.all = tuple(dict.fromkeys((*members, *loose)))  # an optimizer may list one twice
        self._packed = len(members)
        self._trainable: list[bool] = []
        self._free: bool | None = None
        """Whether gradients can go past the cells; None as long as nobody wants to know."""
        self.inputs: tuple[Tensor, ...] = ()
        """What a backward can deposit into."""
        self.holder: Tensor | None = None
        """One of those whose cell is not empty."""
        self.hides: bool | None = None
        """Whether the first graph that led here hides a part of itself; None before it."""
        self.group_norms: bool | None = None
        """Whether a GroupNorm may be in a graph that leads here; None before the first."""
        self._hooked = False

    def look(self) -> None:
        """Sees what there is now: people freeze and unfreeze, call backward() and hang hooks."""
        trainable = list(map(_trainable, self.all))
        if trainable != self._trainable:
            self._trainable = trainable
            self._free = None
            self.inputs = tuple(compress(self.all, trainable))
        # Empty cells are all None, which a list counts by identity: nothing compares tensors.
        self.holder = None
        if list(map(gradient_of, self.inputs)).count(None) != len(self.inputs):
            self.holder = next(p for p in self.inputs if p.grad is not None)
        self._hooked = any(map(_hooks, self.all))

    def look_closer(self) -> None:
        """Has the nodes that deposit asked again for hooks, which takes too long for each turn."""
        self._free = None

    def can_be_passed(self, *, begun: bool) -> bool:
        """Whether the gradients of the `inputs` may go straight into the sums.

        `begun`: the window has a deposit. The first of a loose parameter is kept as torch leaves it
        in the cell, in memory that nobody else holds.
        """
        if self._hooked or not (begun or self._packed == len(self.all)):
            return False
        if self._free is None:
            self._free = all(self._trainable[: self._packed]) and collectable(self.inputs)
        return self._free

    def take(self) -> list[Tensor | None]:
        """What all of them hold. They are empty then."""
        held: list[Tensor | None] = list(map(gradient_of, self.all))
        for p in self.all:
            p.grad = None
        return held
