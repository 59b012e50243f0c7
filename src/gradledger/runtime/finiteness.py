"""Is a gradient finite? Asked after each backward, so it has to be cheap."""

from __future__ import annotations

from array import array

import torch
from torch import Tensor

_ONE = torch.ones((), dtype=torch.float32, device="cpu")
_found = array("f", [0])
_FOUND = torch.frombuffer(_found, dtype=torch.float32).reshape(())
"""The same memory twice: to ask torch what it wrote costs as much as to let it write."""


def all_finite(grads: list[Tensor]) -> bool:
    """Has none of them a NaN or an Inf?

    torch's own check for GradScaler looks at all of them in one call. It also multiplies, here by
    one, which leaves every value as it is, bit for bit.
    """
    if not grads:
        return True
    if grads[0].requires_grad:  # a graph of gradients: nobody may touch its values
        return all(map(finite, grads))
    try:
        torch._amp_foreach_non_finite_check_and_unscale_(grads, _FOUND, _ONE)
    except (RuntimeError, NotImplementedError):  # sparse, complex, on several devices
        return all(map(finite, grads))
    if _found[0]:
        _found[0] = 0
        return False
    return True


def finite(grad: Tensor) -> bool:
    """The same for one, of any kind."""
    values = grad.detach()
    if values.layout != torch.strided:
        values = values.coalesce().values() if values.is_sparse else values.to_dense()
    return bool(torch.isfinite(values).all())
