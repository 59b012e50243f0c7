"""Which numbers can be read at once: those of other devices than the CPU would be waited for."""

from __future__ import annotations

from torch import Tensor

_forced = False
"""Treats CPU tensors as if they were elsewhere: for tests, where there is no other device."""


def here(tensor: Tensor) -> bool:
    """Whether its values can be read without waiting for a device."""
    return tensor.is_cpu and not _forced


def number(value: object) -> float | None:
    """A number, or the one in a tensor that can be read at once; None for one that can't."""
    if isinstance(value, Tensor):
        return float(value) if here(value) else None
    return float(value)  # type: ignore[arg-type]
