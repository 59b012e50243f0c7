"""Weak references to tensors that can be told from all others."""

from __future__ import annotations

import weakref

from torch import Tensor


class TensorRef(weakref.ref[Tensor]):
    """As `weakref.ref`; `swaps.py` says why a tensor with such ones may be swapped."""

    __slots__ = ()
