"""FSDP2's meetings: every layer of every micro-batch needs all ranks, so they go in step.

A micro-batch that a rank does not have (its data has ended, it failed) is stood in for: the last
inputs go through the model once more, and back with a gradient of zero. The sums of a window are
kept by FSDP2, as it does without gradient sync, and reduced in the last backward.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from gradledger.engine.ranks.alarm import Alarm
from gradledger.engine.ranks.forwards import Forwards
from gradledger.engine.ranks.meetings import Meetings
from gradledger.engine.ranks.meshes import data_ranks, group_of, meshes_of
from gradledger.engine.ranks.table import Table, Word
from gradledger.engine.sums import Sums
from gradledger.engine.window import Window


class Sharded(Meetings):
    """The ranks need each other in every micro-batch: each of them has the same number of them."""

    def __init__(self, model: Any, window: Window, sums: Sums) -> None:
        mesh = meshes_of(model.parameters())[0]
        self._group = group_of(mesh)
        self._device = mesh.device_type
        super().__init__(Table(self._group), window, sums)
        self.copies = self.table.size // data_ranks(model)
        self.across = self._add_up
        self._model = model
        self._forwards = Forwards(model)
        self._alarm = Alarm(self.table.rank)
        self.unit = 0.0  # items of the largest of the first micro-batches
        self._said = False
        self.arrange(1)

    def everywhere(self, micro_batch: int) -> bool:
        return True

    def arrange(self, micro_batch: int) -> None:
        self._model.set_requires_gradient_sync(micro_batch >= self._window.size)

    def keep_apart(self) -> None:
        """Not needed: `run` is refused, as pieces of a micro-batch would not go in step."""

    def walk_apart(self, losses: Sequence[Tensor], inputs: list[Tensor], *, retain: bool) -> None:
        raise AssertionError("each micro-batch of a sharded model needs all ranks")

    def draw(self, *, last: bool) -> None:
        super().draw(last=False)
        self.table.count(present=True)

    def turns_elsewhere(self) -> bool:
        return self.table.counted(present=False) > 0

    def windows_elsewhere(self) -> bool:
        return False

    def walk_together(
        self, losses: Sequence[Tensor], inputs: list[Tensor], items: float, unit: float
    ) -> bool:
        # Not `inputs=`: what the graph holds are parameters that FSDP2 has put together for it.
        weight = self._weigh(items) * unit
        self._say(items)
        weights = [torch.full_like(loss, weight) for loss in losses]
        self._backward(losses, weights)
        if not self._window.full:
            self._window.add(items)
        return True

    def stand_in(self) -> None:
        self._alarm.check()
        if self._forwards.inside:
            self._alarm.ring(self._forwards.failure, "in the forward")
        outputs = self._forwards.outputs() or self._forwards.again()
        if not outputs:
            self._alarm.ring("there was no micro-batch yet that it could repeat", "without data")
        self._weigh(0.0)
        self._say(0.0)
        self._backward(outputs, [torch.zeros_like(out) for out in outputs])

    def _backward(self, tensors: Sequence[Tensor], gradients: Sequence[Tensor]) -> None:
        try:
            torch.autograd.backward(tensors, gradients)
        except BaseException as error:
            self._alarm.ring(f"{type(error).__name__}: {error}", "in the backward", error)
        self._forwards.done()

    @property
    def begun(self) -> bool:
        return self._said

    def conclude(self) -> Word:
        if not self._said:
            # A window that ends early: what FSDP2 keeps is reduced now, behind no backward.
            self._model.set_requires_gradient_sync(True)
            self.table.say(self.word(0.0))
            state = self._model._get_fsdp_state()
            state._lazy_init()  # after loading, there may have been no forward yet
            context: Any = getattr(state, "_state_ctx", None)
            if getattr(context, "manual_backward_finalization_active", 0) is None:  # torch 2.15
                context.manual_backward_finalization_active = False
            state._root_post_backward_final_callback()
        self._said = False
        word = self.hear()
        totals = {p: p.grad for p in self._model.parameters() if p.grad is not None}
        for p, carried in self._sums.loose.items():  # put together earlier in this window
            totals[p] = totals[p] + carried if p in totals else carried
        # FSDP2 has divided by the number of ranks with data of their own. The items of the others
        # were counted as often.
        self.take_over(totals, word, word.items / (self.unit * self.table.size or 1.0))
        return word

    def _add_up(self, numbers: Tensor) -> Tensor:
        there = numbers.to(self._device)
        dist.all_reduce(there, group=self._group)
        return there.to(numbers.device)

    def put_together(self) -> None:
        if self._window.begun:
            super().put_together()
        else:
            self._shared = {}

    def take_up(self, sums: dict[Tensor, Tensor], *, unit: float, ranks: int) -> None:
        self.unit = unit
        # FSDP2 had divided by the number of ranks that there were.
        self.keep({p: total * (ranks / self.table.size) for p, total in sums.items()})

    def reached(self, parameters: list[Tensor]) -> list[Tensor]:
        return [p for p in parameters if p.requires_grad]

    def _weigh(self, items: float) -> float:
        if not self.unit:
            self.unit = self.table.largest(items)
        return items / self.unit if self.unit else 0.0

    def _say(self, items: float) -> None:
        """Before the last backward, which hides it."""
        if self._window.full:
            self.table.say(self.word(items))
            self._said = True
