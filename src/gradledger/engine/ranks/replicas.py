"""DDP: every rank has the whole model, and one window's sums meet in the last backward of it.

Until then the ranks add up apart. In the last micro-batch, DDP's reducer hands over its buckets as
the gradients become ready; what the rank has added up goes along, so that the communication is
DDP's own, once for each window, behind backward. A rank that has no such backward (its data has
ended, its micro-batch failed, the window is short) sends what it has, or zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from weakref import finalize

import torch
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from gradledger.engine.packable import LOW_PRECISION
from gradledger.engine.ranks.wire import Arrival, Send, wire_of
from gradledger.ledger.announcing import performing

if TYPE_CHECKING:
    from torch._C._distributed_c10d import GradBucket


class Replicas:
    """This rank's part in the meetings of one model."""

    def __init__(self, model: DistributedDataParallel) -> None:
        self._model = model
        self._wire = wire_of(model)
        self.parameters = replicated(model)
        _forwards_without_buffers(model, self)
        self._settle_buckets()

    def _settle_buckets(self) -> None:
        """Two rounds of zeros: DDP arranges its buckets anew after the first.

        It does so by the order in which gradients come, and where in a bucket a number stands
        decides in which order ranks add it up. So from the first window on, and after each restart,
        the arrangement is the same, and with it each bit.
        """
        held = [p.grad for p in self.parameters]
        with performing():
            for _ in range(2):
                self.attend(Round(self.parameters, {}, 0.0, lambda reached: None))
            for p, grad in zip(self.parameters, held, strict=True):
                p.grad = grad

    def share_buffers(self) -> None:
        """Those of rank 0 for all: at the end of a window, where each rank comes once.

        DDP would do it in a forward, and a rank may have none, or several.
        """
        model: Any = self._model
        model.require_forward_param_sync = True
        if model.will_sync_module_buffers():
            model._sync_buffers()

    def arrange(self, *, meeting: bool) -> None:
        """Before a forward: whether its backward is one in which the ranks meet."""
        self._model.require_backward_grad_sync = meeting

    @contextmanager
    def sending(self, round: Round | None) -> Iterator[None]:
        """Inside, gradients that become ready go into this round; if it is None, nowhere."""
        self._wire.carrier = round or _NOBODY
        try:
            yield
        finally:
            self._wire.carrier = None

    def make_room(self, carried: Iterable[Tensor]) -> None:
        """DDP that looks for unused parameters wants gradients in those that were once used."""
        if self._model.find_unused_parameters:
            for p in carried:
                p.grad = torch.zeros_like(p)

    def attend(self, round: Round) -> None:
        """Takes part in what is left of a round, without a loss: with what is carried, or zeros."""
        if round.begun:
            # Those with a gradient come last: DDP has counted them (unless a hook stood in its
            # way), and would complain.
            self.fill_up(round, sorted(self.parameters, key=_has_gradient))
        if not round.complete:
            with self.sending(round), torch.enable_grad():
                torch.autograd.backward(self._forward_of_nothing())

    def fill_up(self, round: Round, parameters: Iterable[Tensor]) -> None:
        """Sends zeros for what the loss did not reach, or an exception left out."""
        with self.sending(round), torch.enable_grad():
            for p in parameters:
                if round.complete:
                    break
                with suppress(RuntimeError):
                    torch.autograd.backward(_nothing(p))

    def _forward_of_nothing(self) -> Tensor:
        """A forward for DDP's bookkeeping, in which the module itself is not called."""
        model: Any = self._model
        model.require_backward_grad_sync, model.require_forward_param_sync = True, False
        model._run_ddp_forward = lambda: torch.stack([_nothing(p) for p in self.parameters]).sum()
        try:
            output: Tensor = model.forward()
        finally:
            del model._run_ddp_forward
        return output


Speak = Callable[[list[Tensor]], None]
"""Says this rank's word at the table, given the cells that its last backward reached."""


class Round:
    """What the ranks exchange at the end of one window.

    `carried`, times `unit`, is what this rank has added up so far.
    """

    def __init__(
        self,
        parameters: list[Tensor],
        carried: Mapping[Tensor, Tensor],
        unit: float,
        speak: Speak,
    ) -> None:
        self._parameters = parameters
        self._carried = carried
        self._unit = unit
        self._speak = speak
        self.weight = 1.0
        """What the gradients of the last micro-batch are multiplied by: its items."""
        self.totals: dict[Tensor, Tensor] = {}
        """The sums over all ranks."""
        self.begun = False
        self.complete = False
        self.reached: list[Tensor] | None = None
        """The cells that the last backward reached."""

    def look(self) -> None:
        """The last backward is over, or has failed: what follows are zeros."""
        if self.reached is None:
            self.reached = [p for p in self._parameters if p.grad is not None]

    def carry(self, bucket: GradBucket, send: Send) -> Arrival:
        """Adds what was added up to what became ready, and sends it."""
        self.begun = True
        theirs, views = bucket.buffer(), bucket.gradients()
        numbers = theirs
        wide = theirs.dtype in LOW_PRECISION
        if wide:
            numbers = theirs.float()
            views = [_same_place(numbers, view, theirs) for view in views]
        parameters = bucket.parameters()
        if self.weight != 1.0:
            numbers.mul_(self.weight)
        pairs = [
            (view, self._carried[p])
            for p, view in zip(parameters, views, strict=True)
            if p in self._carried
        ]
        if pairs:
            into, what = (list(each) for each in zip(*pairs, strict=True))
            torch._foreach_add_(into, what, alpha=self._unit)
        self.totals.update(zip(parameters, views, strict=True))
        arrival = send(numbers)
        if bucket.is_last():
            self.look()
            assert self.reached is not None
            self._speak(self.reached)
            self.complete = True
        if wide:
            # DDP wants the bucket back; the sums themselves stay in float32.
            return arrival.then(lambda done: theirs.copy_(done.value()))
        return arrival


class _Nobody:
    """Who answers in a backward in which the ranks do not meet: DDP was prepared for another."""

    def carry(self, bucket: GradBucket, send: Send) -> Arrival:
        arrival: Arrival = torch.futures.Future()
        arrival.set_result(bucket.buffer())
        return arrival


_NOBODY = _Nobody()


def _forwards_without_buffers(model: DistributedDataParallel, owner: object) -> None:
    """As long as the owner is there, no forward exchanges buffers."""

    def before(model: Any, args: object) -> None:
        model.require_forward_param_sync = False

    finalize(owner, model.register_forward_pre_hook(before).remove)


def replicated(model: DistributedDataParallel) -> list[Tensor]:
    """The parameters whose gradients DDP reduces."""
    return [
        p
        for name, p in model.module.named_parameters()
        if p.requires_grad and name not in model.parameters_to_ignore
    ]


def _has_gradient(p: Tensor) -> bool:
    return p.grad is not None


def _nothing(p: Tensor) -> Tensor:
    """Zero, with a graph that leads to this parameter: its gradient is exactly zero."""
    return (p.reshape(-1)[:1] * 0.0).sum().to(torch.float64)


def _same_place(numbers: Tensor, view: Tensor, buffer: Tensor) -> Tensor:
    """The view of a buffer, on other numbers of the same length."""
    place = view.storage_offset() - buffer.storage_offset()
    return torch.as_strided(numbers, view.size(), view.stride(), place)
