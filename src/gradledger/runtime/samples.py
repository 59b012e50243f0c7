"""Samples of a tensor's values, and what was done to the tensor between two of them."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Kind = Literal["same", "zero", "scale", "change"]
Sample = Tensor

WHOLE = 4096
"""Larger tensors are sampled."""


def sample(tensor: Tensor) -> Sample:
    """Some of its values, always at the same positions; all of them, if they are few."""
    plain = tensor.detach()
    if plain.layout != torch.strided:
        plain = plain.to_dense()
    flat = plain.reshape(-1)
    return flat[:: 1 + flat.numel() // WHOLE].clone()


def edit_between(before: Sample, after: Sample) -> tuple[Kind, float | None]:
    """What made the one of the other."""
    if before.shape != after.shape or before.dtype != after.dtype:
        return "change", None
    if before.equal(after):
        return "same", None
    if not bool(after.any()):
        return "zero", None
    factor = _factor(before, after)
    return ("change", None) if factor is None else ("scale", factor)


def _factor(before: Sample, after: Sample) -> float | None:
    """The one number that all values were multiplied by. One value is a multiple of any other."""
    if before.numel() < 2 or not (torch.isfinite(before).all() and torch.isfinite(after).all()):
        return None
    old, new = before.double(), after.double()
    largest = int(old.abs().argmax())
    if old[largest] == 0:
        return None
    factor = float(new[largest] / old[largest])
    tolerance = 1e-2 if before.dtype in (torch.bfloat16, torch.float16) else 1e-4
    atol = tolerance * float(new.abs().max())
    if not factor or not torch.allclose(new, old * factor, rtol=tolerance, atol=atol):
        return None
    whole = round(1 / factor)
    # 0.33333334 is a third that was rounded.
    return 1 / whole if whole and abs(factor * whole - 1) < tolerance else factor
