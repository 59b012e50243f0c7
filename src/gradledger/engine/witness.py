"""Is it the same batch? A few numbers of it, kept with a state, tell when data is drawn again."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gradledger.engine import trees

_MOST = 1024
"""Elements of each tensor that are looked at, evenly from all of it."""


def witness(batch: object) -> list[int | None]:
    """A number for each tensor of a batch; None for one that can't be told any more.

    What was changed in place after it was drawn is not what will be drawn.
    """
    found: list[int | None] = []

    def note(leaf: Any) -> Any:
        if isinstance(leaf, Tensor):
            found.append(_checksum(leaf) if _is_as_drawn(leaf) else None)
        return leaf

    trees.visit(batch, note)
    return found


def contradicts(one: Sequence[int | None], other: Sequence[int | None]) -> bool:
    """Whether they are certain to be of different batches."""
    return len(one) != len(other) or any(
        a != b for a, b in zip(one, other, strict=True) if a is not None and b is not None
    )


def _is_as_drawn(tensor: Tensor) -> bool:
    return (
        type(tensor) is Tensor
        and tensor.layout is torch.strided
        and not (tensor.is_nested or tensor.is_quantized or tensor.is_meta)
        and not tensor.is_inference()
        and tensor._version == 0
    )


def _checksum(tensor: Tensor) -> int:
    flat = tensor.detach().reshape(-1)
    few = flat[:: max(1, flat.numel() // _MOST)].resolve_conj().resolve_neg().cpu().contiguous()
    return zlib.crc32(bytes(few.view(torch.uint8).tolist()), flat.numel() & 0xFFFFFFFF)
