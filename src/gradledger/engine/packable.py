"""Which parameters can be packed, and why others can't, in the words that `plan()` shows."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn, optim
from torch.optim import Optimizer

from gradledger.engine.ownership import Group

LOW_PRECISION = (torch.bfloat16, torch.float16)

ELEMENTWISE: frozenset[type[Optimizer]] = frozenset(
    {
        optim.SGD,
        optim.Adam,
        optim.AdamW,
        optim.RMSprop,
        optim.Adagrad,
        optim.Adadelta,
        optim.Adamax,
        optim.NAdam,
        optim.RAdam,
        optim.ASGD,
        optim.Rprop,
    }
)
"""What happens to an element depends on that element alone. These very classes, no subclass."""

LARGEST = 2**14
"""Elements. Beyond this, the copy into the pack costs more than a step of its own."""

_VECTOR = 32
"""Elements. The last few that do not fill a vector are rounded in another way, in some kernels."""


def why_loose(p: Tensor, optimizer: Optimizer, group: Group) -> str | None:
    """Why a parameter stays as it is, by what it is; None if it can be packed."""
    return (
        _why_not_this_optimizer(optimizer, group)
        or _why_not_this_kind(p)
        or _why_rounded_otherwise(p, group)
        or _why_not_this_state(p, optimizer)
    )


def _why_not_this_optimizer(optimizer: Optimizer, group: Group) -> str | None:
    kind = type(optimizer)
    if kind not in ELEMENTWISE:
        return f"{kind.__name__} is not known to treat every element by itself"
    if group.get("differentiable"):
        return "its optimizer is differentiable"
    return None


def _why_not_this_kind(p: Tensor) -> str | None:
    if type(p) is not nn.Parameter or type(p.data) is not Tensor:
        return f"it is a {type(p).__name__}, not a plain parameter"
    if p.is_meta:
        return "it has no values, being on the meta device"
    if not p.requires_grad:
        return "it is frozen"
    if p.numel() > LARGEST:
        return f"it is large (more than {LARGEST:,} elements): a step of its own costs less"
    if p.dim() == 0 or p.numel() == 0:
        return "it is a scalar, or empty"
    if not p.is_floating_point() or p.layout != torch.strided:
        return f"its type is {p.dtype}, {p.layout}"
    if not p.is_contiguous():
        return "its memory format is not the plain one"
    if getattr(p, "grad_dtype", p.dtype) not in (p.dtype, None):
        return "its gradient has a type of its own"
    return None


def _why_rounded_otherwise(p: Tensor, group: Group) -> str | None:
    low, fused = p.dtype in LOW_PRECISION, group.get("fused")
    if low and fused:
        return "fused kernels round 16 bits in another way in a pack"
    if (low or fused) and p.numel() % _VECTOR:
        kernels = "in 16 bits" if low else "with fused kernels"
        return f"{kernels}, sizes that are no multiple of {_VECTOR} are rounded otherwise in a pack"
    return None


def _why_not_this_state(p: Tensor, optimizer: Optimizer) -> str | None:
    for key, value in optimizer.state.get(p, {}).items():
        if isinstance(value, Tensor):
            if value.dim() and (value.shape != p.shape or value.layout != torch.strided):
                return f"its optimizer state {key!r} has another shape"
        elif not isinstance(value, Hashable):
            return f"its optimizer state {key!r} is a {type(value).__name__}"
    return None


class Memory:
    """Who holds the memory of which parameters: themselves, or somebody else too.

    Parameters may lie side by side in one buffer, as an earlier Stepper left them.
    """

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._together: defaultdict[int, list[Tensor]] = defaultdict(list)
        self._let_go = False
        for p in parameters:
            if _why_not_this_kind(p) is None:
                self._together[p.untyped_storage().data_ptr()].append(p)

    def why_held(self, p: Tensor) -> str | None:
        """Why a parameter has to stay in its memory; None if nobody would miss it there."""
        together = self._together[p.untyped_storage().data_ptr()]
        if p.untyped_storage().is_shared() or _overlap(together):
            return "its memory is shared with something else"
        if not _OF_A_PLAIN_TENSOR:
            return "this torch doesn't tell whether something else holds its memory"
        if has_other_holders(p, views=len(together) - 1) and not self._let_go:
            self._let_go = True
            let_go_of_storages()
        if has_other_holders(p, views=len(together) - 1):
            return "something else holds its memory (a state_dict, a NumPy array, a detached copy)"
        return None


def _overlap(tensors: list[Tensor]) -> bool:
    spans = sorted((t.data_ptr(), t.data_ptr() + t.numel() * t.element_size()) for t in tensors)
    return any(end > start for (_, end), (start, _) in pairwise(spans))


def likeness(p: Tensor, state: dict[str, Any]) -> tuple[Hashable, ...]:
    """What has to be equal in a pack: type, device, which state there is, and step counts."""
    scalars = (
        (key, value.dtype, value.item() if value.dim() == 0 else None)
        if isinstance(value, Tensor)
        else (key, value)
        for key, value in state.items()
    )
    return (p.dtype, p.device, *scalars)


def has_other_holders(tensor: Tensor, *, views: int = 0) -> bool:
    """Whether somebody else refers to the tensor's memory. `views`: how many of it are ours."""
    return _holders(tensor) > _OF_A_PLAIN_TENSOR + views


def _holders(tensor: Tensor) -> int:
    """How many refer to its memory; 0 where torch doesn't tell."""
    count = getattr(torch._C, "_storage_Use_Count", None)
    return 0 if count is None else int(count(tensor.untyped_storage()._cdata))


def let_go_of_storages() -> None:
    """In torch 2.6, a storage's Python object counts as a holder, and `save` leaves some behind."""
    if _OF_A_PLAIN_TENSOR == 1:
        gc.collect()


_PLAIN_TENSOR = torch.zeros(1)
_OF_A_PLAIN_TENSOR = _holders(_PLAIN_TENSOR)
