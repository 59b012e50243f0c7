"""Numbers in another precision, and everything else as it is."""

from __future__ import annotations

import torch
from torch import Tensor


def in_precision(tensor: Tensor, dtype: torch.dtype | None) -> Tensor:
    """Real numbers in `dtype`, complex ones in as many digits, integers as they are."""
    if dtype is None:
        return tensor
    if tensor.is_complex():
        return tensor.to(dtype.to_complex())
    return tensor.to(dtype) if tensor.is_floating_point() else tensor
