"""How a node of a graph reduced many numbers to one: a mean or a sum, and of how many items."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from math import prod
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node

from gradledger.runtime.tensors.devices import here
from gradledger.runtime.tensors.torch_names import module, private

_dispatch_modes: Callable[[], int] = private(torch._C, "_len_torch_dispatch_stack", lambda: 1)
_without_modes: Callable[[], AbstractContextManager[Any]] | None = private(
    module("torch.utils._python_dispatch"),
    "_disable_current_modes",
    None,
    unseen="what a loss was divided by isn't known inside of dispatch modes",
)
with torch.inference_mode(False), torch.enable_grad():
    _LEAF = torch.zeros(1, device="cpu", requires_grad=True)
    for _probe, _name in (
        (_LEAF.mean(), "_saved_self_sym_sizes"),
        (nn.functional.mse_loss(_LEAF, _LEAF.detach()), "_saved_reduction"),
    ):
        private(_probe.grad_fn, _name, None, unseen="the weights of some losses aren't judged")
_REDUCTIONS: dict[int, Literal["mean", "sum"]] = {1: "mean", 2: "sum"}
_PRODUCTS = {"DotBackward0": "tensor", "BmmBackward0": "mat2", "MmBackward0": "mat2"}
"""Sums of products, by what they keep of the second factor: `torch.einsum` ends in one."""
_DEEP = 6
"""So many nodes behind a sum are looked at for what was left out of it."""


class Reduction(NamedTuple):
    """What a node says of the items that it reduced. Made in every step."""

    kind: Literal["mean", "sum"] | None = None
    items: int | None = None
    """None where some count more than others, or nothing says how many there were."""
    rows: int | None = None
    """The first dimension: a sum that is divided by it is a mean over the batch."""
    classes: int | None = None
    """Of a negative log likelihood."""


UNKNOWN = Reduction()


def reduction(node: Node, name: str) -> Reduction:
    """How the node made one number of many, if it did."""
    try:
        return _reduction(node, name)
    except AttributeError:  # torch keeps it under another name
        return UNKNOWN


def _reduction(node: Any, name: str) -> Reduction:
    match name:
        case "MeanBackward0" | "SumBackward0":
            sizes = tuple(node._saved_self_sym_sizes)
        case "MeanBackward1" | "SumBackward1":
            # All dimensions but those of size one: the result is one number.
            sizes = tuple(node._saved_self_sym_sizes)
            dims = {dim % len(sizes) for dim in _dims(node._saved_dim)} if sizes else set()
            if dims and any(size != 1 for dim, size in enumerate(sizes) if dim not in dims):
                return UNKNOWN
        case "DotBackward0" | "BmmBackward0" | "MmBackward0":
            return _product(node, name)
        case _:
            return _loss(node)
    return Reduction("mean" if name.startswith("Mean") else "sum", prod(sizes), _first(sizes))


def _dims(given: Any) -> tuple[int, ...]:
    dims = (given,) if isinstance(given, int) else tuple(given or ())
    # Unsigned in some versions of torch.
    return tuple(dim - 2**64 if dim >= 2**63 else dim for dim in dims)


def _first(sizes: tuple[int, ...]) -> int | None:
    return int(sizes[0]) if sizes else None


def _product(node: Node, name: str) -> Reduction:
    """A product of two vectors is the sum over the products of their elements."""
    for kept in (_PRODUCTS[name], "self"):
        other = getattr(node, f"_saved_{kept}", None)
        # One number comes out where each factor is one row or column.
        if isinstance(other, Tensor) and max(other.shape, default=1) == other.numel():
            return Reduction("sum", other.numel())
    return UNKNOWN


def _loss(node: Node) -> Reduction:
    """One of torch's own losses."""
    kind = _REDUCTIONS.get(getattr(node, "_saved_reduction", 0))
    if kind is None:
        return UNKNOWN
    target, given = getattr(node, "_saved_target", None), getattr(node, "_saved_self", None)
    # What has a target each: a row of logits is one item, whatever its length.
    values = target if isinstance(target, Tensor) else given
    shape = tuple(values.shape) if isinstance(values, Tensor) else ()
    items = values.numel() if isinstance(values, Tensor) else None
    classes = None
    total = getattr(node, "_saved_total_weight", None)
    if isinstance(total, Tensor):
        counted = value(total)
        items = int(counted) if counted is not None and counted.is_integer() else None
        if isinstance(given, Tensor) and given.dim():
            classes = int(given.shape[min(1, given.dim() - 1)])
    return Reduction(kind, items, _first(shape), classes)


def value(tensor: object) -> float | None:
    """The one number that a plain tensor holds. To ask another kind may run code of its own."""
    if type(tensor) not in (Tensor, nn.Parameter):
        return None
    assert isinstance(tensor, Tensor)
    if tensor.numel() != 1 or not here(tensor) or tensor.is_complex():
        return None
    if _dispatch_modes():  # a mode of the program's would see us ask
        if _without_modes is None:
            return None
        with _without_modes():
            return float(tensor.item())
    return float(tensor.item())


def weighs(node: Node | None, number: float, *, masks_only: bool = False) -> bool:
    """Whether a sum's items were weighed, by a mask say, with this number in all."""
    for _ in range(_DEEP):
        if node is None:
            return False
        if masks_only and node.name().startswith("NllLoss"):
            return False  # that all its targets are valid says nothing
        if any(abs(total - number) <= 1e-5 * abs(number) for total in _weights(node)):
            return True
        following = [behind for behind, _ in node.next_functions if behind is not None]
        node = following[0] if len(following) == 1 else None
    return False


def _weights(node: Any) -> list[float]:
    """What the weights that this node gave to items add up to."""
    name, found = node.name(), []
    try:
        if name == "MulBackward0":
            for factor in (node._saved_other, node._saved_self):
                if _readable(factor) and not factor.requires_grad:
                    found.append(float(factor.sum()))
        elif name == "MaskedFillBackward0" and _readable(mask := node._saved_mask):
            found.append(mask.numel() - int(mask.sum()))
        elif name == "WhereBackward0" and _readable(chosen := node._saved_condition):
            found += [int(chosen.sum()), chosen.numel() - int(chosen.sum())]
        elif name.startswith("NllLoss") and _readable(target := node._saved_target):
            (ignored,) = _dims(node._saved_ignore_index)
            found.append(int((target != ignored).sum()))
    except AttributeError:  # torch keeps it under another name
        pass
    return found


def _readable(tensor: Any) -> bool:
    return type(tensor) is Tensor and tensor.numel() > 1 and here(tensor)
