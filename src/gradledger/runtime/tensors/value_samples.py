"""Samples of a tensor's values, and what was done to the tensor between two of them."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from gradledger.runtime.tensors.devices import here
from gradledger.runtime.tensors.dtensors import local_part

Kind = Literal["same", "zero", "scale", "change"]
Sample = Tensor

WHOLE = 4096
"""Larger tensors are sampled."""


def sample(tensor: Tensor) -> Sample:
    """Some of its values, always at the same positions; all of them, if they are few.

    Of one whose values would be waited for, its version and where it lies.
    """
    if not here(tensor):
        where = 0 if tensor.is_meta else tensor.data_ptr()
        return torch.tensor([tensor._version, where], dtype=torch.int64, device="cpu")
    plain = local_part(tensor).detach()
    if plain.layout != torch.strided:
        plain = plain.to_dense()
    flat = plain.reshape(-1)
    return flat[:: 1 + flat.numel() // WHOLE].clone()


def any_in(tensor: Tensor) -> bool:
    """Whether it has any value but zero, as far as that can be read at once."""
    return here(tensor) and bool(local_part(tensor).detach().any())


def edit_between(before: Sample, after: Sample) -> tuple[Kind, float | None]:
    """What made the one of the other."""
    if before.shape != after.shape or before.dtype != after.dtype:
        return "change", None
    if before.equal(after):
        return "same", None
    if before.dtype is torch.int64:  # versions
        return "change", None
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
