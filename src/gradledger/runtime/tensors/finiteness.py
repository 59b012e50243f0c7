"""Whether a gradient is finite. Checked after each backward, so it has to be cheap."""

from __future__ import annotations

from array import array
from math import inf

import torch
from torch import Tensor

from gradledger.runtime.tensors.devices import here
from gradledger.runtime.tensors.dtensors import local_part

_UNABLE = (RuntimeError, NotImplementedError, AttributeError)
"""What torch raises where it can't; the last where a version has no such function."""
_ONE = torch.ones((), dtype=torch.float32, device="cpu")
_found = array("f", [0])
_FOUND = torch.frombuffer(_found, dtype=torch.float32).reshape(())
"""The same memory twice: to ask torch what it wrote costs as much as to let it write."""


def all_finite(grads: list[Tensor]) -> bool:
    """Has none of them a NaN or an Inf, as far as that can be read at once?

    torch's own check for GradScaler looks at all of them in one call. It also multiplies, here by
    one, which leaves every value as it is, bit for bit.
    """
    if not grads:
        return True
    if not here(grads[0]):
        grads = [grad for grad in grads if here(grad)]
        if not grads:
            return True
    if grads[0].requires_grad:  # a graph of gradients: its values must not be touched
        return all(map(finite, grads))
    try:
        torch._amp_foreach_non_finite_check_and_unscale_(grads, _FOUND, _ONE)
    except _UNABLE:  # sparse, complex, on several devices
        return all(map(finite, grads))
    if _found[0]:
        _found[0] = 0
        return False
    return True


def spoilt(grads: list[Tensor]) -> Tensor:
    """For each of these, which lie on one device, 1 where it has a NaN or an Inf. Waits for none.

    By the largest number of each, which is a NaN where any is, and does not overflow.
    """
    with torch.no_grad():
        try:
            largest = torch.stack(torch._foreach_norm(grads, inf)).isfinite()
        except (*_UNABLE, IndexError):  # sparse, empty, of several dtypes
            largest = torch.stack([torch.isfinite(_values(grad)).all() for grad in grads])
        return largest.logical_not().float()


def finite(grad: Tensor) -> bool:
    """The same for one, of any kind."""
    return not here(grad) or bool(torch.isfinite(_values(grad)).all())


def _values(grad: Tensor) -> Tensor:
    values = local_part(grad).detach()
    if values.layout != torch.strided:
        values = values.coalesce().values() if values.is_sparse else values.to_dense()
    return values
