"""L2 norms of many tensors, at little cost and without touching them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from gradledger.runtime.tensors.dtypes import LOW_PRECISION
from gradledger.runtime.tensors.torch_names import module, private

SMALL = 1024
"""Elements: up to here, to copy a tensor costs less than to call one more function for it."""
MANY = 16
"""Small tensors from which on it pays to copy them together."""

UNABLE = (RuntimeError, NotImplementedError, TypeError, AttributeError)
"""What torch raises where a tensor or its device can't do something."""


def _one_after_the_other(tensors: list[Tensor]) -> Tensor:
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


flattened: Callable[[list[Tensor]], Tensor] = private(
    module("torch._utils"), "_flatten_dense_tensors", _one_after_the_other
)
"""The elements of all of them in one tensor."""

_PLAIN = {Tensor, nn.Parameter}
_NARROW = {torch.float32, *LOW_PRECISION}


class Part(NamedTuple):
    """The norms of some tensors that lie on one device."""

    which: Sequence[int]
    """The tensors' positions in the list that they came in, in the order of `norms`."""
    norms: Tensor


def norms(tensors: list[Tensor]) -> list[Part]:
    """Of each tensor its norm, as far as it has one. Waits for no device."""
    if not tensors:
        return []
    with torch.no_grad():
        if set(map(type, tensors)) <= _PLAIN and not tensors[0].is_meta:
            try:
                return [_together(tensors)]
            except UNABLE:  # sparse, or on several devices
                pass
        return _one_by_one(tensors)


def _together(tensors: list[Tensor]) -> Part:
    small: list[int] = []
    if len(tensors) >= MANY:
        small, large, lengths = _sorted_by_size(tuple(map(Tensor.numel, tensors)))
    if not small:
        return Part(range(len(tensors)), _each(tensors))
    flat = flattened([tensors[i] for i in small])
    if flat.is_complex():
        flat = flat.abs()
    squares = widened(flat).square()
    lengths = lengths.to(flat.device, non_blocking=True)
    of_small = torch.segment_reduce(squares, "sum", lengths=lengths, unsafe=True).sqrt_()
    if not large:
        return Part(small, of_small)
    of_large = _each([tensors[i] for i in large])
    return Part([*small, *large], torch.cat((of_small, widened(of_large))))


def _each(tensors: list[Tensor]) -> Tensor:
    kinds = {tensor.dtype for tensor in tensors}
    # In 16 bits, the norm would overflow before any of the numbers does.
    wide = torch.float32 if kinds <= _NARROW else None
    if wide is None and not kinds.isdisjoint(LOW_PRECISION):
        raise RuntimeError("one dtype does not suit them all")
    return torch.stack(torch._foreach_norm(tensors, 2, wide))


@lru_cache(maxsize=64)
def _sorted_by_size(sizes: tuple[int, ...]) -> tuple[list[int], list[int], Tensor]:
    """The small ones, if they are many, the others, and how long the small ones are."""
    small = [which for which, size in enumerate(sizes) if size <= SMALL]
    if len(small) < MANY:
        small = []
    among = set(small)
    large = [which for which in range(len(sizes)) if which not in among]
    return small, large, torch.tensor([sizes[i] for i in small], device="cpu")


def _one_by_one(tensors: list[Tensor]) -> list[Part]:
    """Whatever they are. One that has no norm, because it has no numbers, say, is left out."""
    found: dict[torch.device, tuple[list[int], list[Tensor]]] = {}
    for which, tensor in enumerate(tensors):
        values = plain(tensor)
        if values is None:
            continue
        wide = torch.float32 if values.dtype in LOW_PRECISION else None
        try:
            norm = widened(torch.linalg.vector_norm(values, dtype=wide))
        except UNABLE:
            continue
        positions, there = found.setdefault(norm.device, ([], []))
        positions.append(which)
        there.append(norm)
    return [Part(positions, torch.stack(there)) for positions, there in found.values()]


def widened(tensor: Tensor) -> Tensor:
    """The same in double precision, where its device knows that."""
    return tensor.float() if tensor.is_mps else tensor.double()


def plain(tensor: Tensor) -> Tensor | None:
    """The numbers that make a tensor up on this rank; None where there are none to be had."""
    if type(tensor) not in _PLAIN:
        local: Any = getattr(tensor, "to_local", None)
        tensor = tensor if local is None else local()  # of a DTensor, the rest is on other ranks
    if type(tensor) not in _PLAIN or tensor.is_meta or tensor.is_quantized:
        return None
    if tensor.layout is torch.sparse_coo:
        return tensor.coalesce().values()
    if tensor.layout is not torch.strided:
        return tensor.values()
    return tensor
