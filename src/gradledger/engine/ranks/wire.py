"""What a DDP model sends when its gradients are ready: by its communication hook, one for good.

torch takes one hook per model and never gives it back. So the hook stays, and asks who is meeting:
outside of a Stepper's backward it averages, as DDP does by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

if TYPE_CHECKING:
    from torch._C._distributed_c10d import GradBucket

Arrival = torch.futures.Future[Tensor]
Send = Callable[[Tensor], Arrival]


class Carrier(Protocol):
    """Who decides what is sent in place of a bucket of gradients."""

    def carry(self, bucket: GradBucket, send: Send) -> Arrival:
        """Sends it, or answers for it."""


class Wire:
    """The hook of one model."""

    def __init__(self, group: dist.ProcessGroup) -> None:
        self._group = group
        self.carrier: Carrier | None = None

    def deliver(self, bucket: GradBucket) -> Arrival:
        """What DDP calls for each bucket, on every rank in the same order."""
        if self.carrier is not None:
            return self.carrier.carry(bucket, self.send)
        return self.send(bucket.buffer().div_(self._group.size()))

    def send(self, numbers: Tensor) -> Arrival:
        """Adds them up over the ranks, in place."""
        work: Any = dist.all_reduce(numbers, group=self._group, async_op=True)
        arrival: Arrival = work.get_future().then(lambda done: done.value()[0])
        return arrival


_WIRES: WeakKeyDictionary[DistributedDataParallel, Wire] = WeakKeyDictionary()


def wire_of(model: DistributedDataParallel) -> Wire:
    """The one hook of this model; the first to ask puts it in place."""
    if model not in _WIRES:
        wire = Wire(model.process_group)
        # torch reads annotations, and takes none that are strings: a lambda has none.
        model.register_comm_hook(wire, lambda wire, bucket: wire.deliver(bucket))
        _WIRES[model] = wire
    return _WIRES[model]


def has_other_hook(model: DistributedDataParallel) -> bool:
    """Whether somebody else has taken the place."""
    return bool(model._comm_hooks) and model not in _WIRES
