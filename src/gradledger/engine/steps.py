"""A step of an optimizer, past what torch wraps around it where that has nothing to do.

Torch's wrapper calls the hooks and names the step to the profiler, which takes as long as a third
of the step itself does for a small net. With no hook and no profiler there is nobody to miss it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.optim import Optimizer


def _wrapped(optimizer: Optimizer) -> None:
    """Anything that torch may wrap."""


_WRAPPER = getattr(Optimizer.profile_hook_step(_wrapped), "__code__", None)
_is_profiled: Callable[[], bool] = getattr(torch.autograd, "_profiler_enabled", lambda: True)


def unhooked(optimizer: Optimizer) -> Callable[[], Any]:
    """The `step` of an optimizer without hooks. What others have put in its place stays there."""
    step = type(optimizer).step
    if (
        "step" in vars(optimizer)
        or getattr(step, "__code__", None) is not _WRAPPER
        or _is_profiled()
    ):
        return optimizer.step
    return partial(step.__wrapped__, optimizer)  # type: ignore[attr-defined]
