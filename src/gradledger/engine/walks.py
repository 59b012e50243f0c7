"""A walk back through the graph of a loss, straight into torch's engine where that is the same.

`torch.autograd.backward` first sorts out what it was given: tensors or edges of graphs, subclasses,
gradients of the outputs. For a small net that is a sixth of the whole pass. A Stepper's loss is one
number with a graph, which is all that there is to sort out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import unwrap
from typing import Any

import torch
from torch import Tensor
from torch.overrides import has_torch_function

_FRONT_DOOR = unwrap(torch.autograd.backward)
_ENGINE: Callable[..., Any] | None = getattr(torch.autograd.graph, "_engine_run_backward", None)
"""What the front door ends in. Private: a torch without it is asked at the front door."""


def walk(loss: Tensor, inputs: Sequence[Tensor], *, retain_graph: bool) -> None:
    """`torch.autograd.backward` of one number, into the cells of the inputs and no others."""
    if _ENGINE is None or not _plain(loss, inputs):
        torch.autograd.backward((loss,), retain_graph=retain_graph, inputs=inputs)
        return
    # A gradient of its own each time: hooks on the loss may change it in place.
    gradient = torch.ones_like(loss, memory_format=torch.preserve_format)
    _ENGINE(
        (loss,),
        (gradient,),
        retain_graph,
        False,
        tuple(inputs),
        allow_unreachable=True,
        accumulate_grad=True,
    )


def _plain(loss: Tensor, inputs: Sequence[Tensor]) -> bool:
    """Whether the front door would have nothing to add. Who has replaced it wants to be asked."""
    return (
        torch.autograd.backward is _FRONT_DOOR
        and loss.is_floating_point()
        and not loss.is_nested
        and not has_torch_function((loss, *inputs))
        and not torch._C._are_functorch_transforms_active()
    )
