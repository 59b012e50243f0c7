"""A walk back through the graph of a loss, straight into torch's engine where that is the same.

`torch.autograd.backward` first sorts out what it was given: tensors or edges of graphs, subclasses,
gradients of the outputs. For a small net that is a sixth of the whole pass. A Stepper's loss is one
number with a graph, which is all that there is to sort out.

Two ways lead to the gradients. `walk` leaves them in the cells, as everybody does. `collect` has
the engine hand them over: no cell is touched, so that a walk that fails half way has torn nothing
(Law 9), and there is nothing to gather and to clear afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import unwrap
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.overrides import has_torch_function

_FRONT_DOOR = unwrap(torch.autograd.backward)
_ENGINE: Callable[..., Any] | None = getattr(torch.autograd.graph, "_engine_run_backward", None)
"""What the front door ends in. Private: a torch without it is asked at the front door."""
_transformed: Callable[[], bool] = getattr(
    torch._C, "_are_functorch_transforms_active", lambda: True
)


def walk(loss: Tensor, inputs: Sequence[Tensor], *, retain_graph: bool) -> None:
    """`torch.autograd.backward` of one number, into the cells of the inputs and no others."""
    if _ENGINE is None or has_torch_function(inputs) or not plain(loss):
        torch.autograd.backward((loss,), retain_graph=retain_graph, inputs=inputs)
        return
    _ENGINE(
        (loss,),
        # A gradient of its own each time: hooks on the loss may change it in place.
        (torch.ones_like(loss),),
        retain_graph,
        False,
        tuple(inputs),
        allow_unreachable=True,
        accumulate_grad=True,
    )


def collect(
    loss: Tensor, inputs: tuple[Tensor, ...], *, retain_graph: bool
) -> tuple[Tensor | None, ...] | None:
    """The gradients themselves, one for each input; None in place of what the loss does not reach.

    Others may hold them too: they are to be added up, and not to be kept. None for all: `walk`.
    """
    if _ENGINE is None or not plain(loss):
        return None
    found: tuple[Tensor | None, ...] = _ENGINE(
        (loss,),
        (torch.ones_like(loss),),
        retain_graph,
        False,
        inputs,
        allow_unreachable=True,
        accumulate_grad=False,
    )
    return found


def plain(loss: Tensor) -> bool:
    """Whether the front door would have nothing to add. Who has replaced it wants to be asked."""
    return (
        torch.autograd.backward is _FRONT_DOOR
        and loss.is_floating_point()
        and not loss.is_nested
        and not has_torch_function((loss,))
        and not _transformed()
    )


def collectable(inputs: Sequence[Tensor]) -> bool:
    """Whether nobody would miss the deposits into the cells of these. Not quick.

    Hooks on the node that deposits (which is what people did before torch had a hook for it), other
    types of gradients than of parameters, and processes that may send what is deposited.
    """
    return not (
        has_torch_function(inputs)
        or (dist.is_available() and dist.is_initialized())
        or any(getattr(p, "grad_dtype", p.dtype) is not p.dtype for p in inputs)
        or any(map(_has_hooked_node, inputs))
    )


def _has_hooked_node(p: Tensor) -> bool:
    with torch.inference_mode(False):  # in which there are no nodes
        node = torch.autograd.graph.get_gradient_edge(p).node
    for register in (node.register_hook, node.register_prehook):
        handle = register(_nothing)
        handle.remove()
        if handle.hooks_dict_ref():  # the others'
            return True
    return False


def _nothing(*_: object) -> None:
    pass
