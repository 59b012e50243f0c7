"""Tensor parallelism alone: every rank has the same data, and a part of each layer.

The ranks go in step inside the layers, by collectives of DTensor's own. Each adds up its part of
the gradients by itself. At the end of a window they make sure that all have added up the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from gradledger.engine.places import outside
from gradledger.engine.ranks.meetings import Meetings
from gradledger.engine.ranks.meshes import group_of, meshes_of
from gradledger.engine.ranks.table import Table, Word
from gradledger.engine.sums import Sums
from gradledger.engine.window import Window
from gradledger.errors import StepperWarning


class TensorParallel(Meetings):
    """The ranks draw the same micro-batches, and each holds the window whole."""

    alike = True

    def __init__(self, model: nn.Module, window: Window, sums: Sums) -> None:
        mesh = meshes_of(model.parameters())[0]
        self._group = group_of(mesh)
        self._device = mesh.device_type
        super().__init__(Table(self._group), window, sums)
        self.across = self._add_up
        sums.spread = True

    def everywhere(self, micro_batch: int) -> bool:
        return False

    def arrange(self, micro_batch: int) -> None:
        """Not needed: a forward is the same at every place of a window."""

    def keep_apart(self) -> None:
        """Not needed: `run` is refused, as pieces of a micro-batch would not go in step."""

    def walk_apart(self, losses: Sequence[Tensor], inputs: list[Tensor], *, retain: bool) -> None:
        torch.autograd.backward(losses, retain_graph=retain, inputs=inputs)
        for p in inputs:
            _place_like(p)

    def walk_together(
        self, losses: Sequence[Tensor], inputs: list[Tensor], items: float, unit: float
    ) -> bool:
        raise AssertionError("each rank deposits by itself")

    @property
    def begun(self) -> bool:
        return False

    def stand_in(self) -> None:
        """Nobody needs this rank before the window ends."""

    def turns_elsewhere(self) -> bool:
        return False

    def windows_elsewhere(self) -> bool:
        return False

    def conclude(self) -> Word:
        """All have the same micro-batches, or the window is dropped on all."""
        mine = self.word(0.0)
        self.table.say(mine)
        if not self.table.agree([mine.deposits, mine.items]):
            self._window.dropped = True
            self._tell(self.table.ask(f"{mine.deposits} with {mine.items:g} items"))
        word = self.hear()
        dropped = int(self._window.dropped)
        return Word(mine.items, mine.deposits, 1, 0, dropped, word.ended, ())

    def _tell(self, each: list[str]) -> None:
        warnings.warn(
            "a window was dropped on all ranks: with tensor parallelism they have to deposit the "
            f"same micro-batches, and rank 0 has {each[0]}, "
            + ", ".join(f"rank {i} {had}" for i, had in enumerate(each) if i)
            + ".",
            StepperWarning,
            stacklevel=outside(),
        )

    def put_together(self) -> None:
        """Every rank has the whole window already."""
        self.conclude()
        self._shared = {p: total.clone() for p, total in self._sums.loose.items()}

    def take_up(self, sums: dict[Tensor, Tensor], *, unit: float, ranks: int) -> None:
        self._sums.forget()
        self._sums.loose.update({p: total.clone() for p, total in sums.items()})

    def _add_up(self, numbers: Tensor) -> Tensor:
        there = numbers.to(self._device)
        dist.all_reduce(there, group=self._group)
        return there.to(numbers.device)


def _place_like(p: Any) -> None:
    """A gradient may come as parts that are still to be added up over the ranks."""
    there = getattr(p, "placements", None)
    if there is not None and p.grad is not None and p.grad.placements != there:
        p.grad = p.grad.redistribute(placements=there)
