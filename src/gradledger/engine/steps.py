"""An optimizer's step without the wrappers that torch puts around it, where they do nothing.

Torch wraps each `step` twice. The outer wrapper calls hooks and names the step for the profiler;
the inner one sets the grad mode, and breaks the graph for torch.compile. For a small net they take
a third as long as the step itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.optim import Optimizer
from torch.optim.optimizer import _use_grad_for_differentiable


def _wrapped(optimizer: Optimizer) -> None:
    """Anything that torch may wrap."""


_HOOKS = getattr(Optimizer.profile_hook_step(_wrapped), "__code__", None)
_GRAD_MODE = getattr(_use_grad_for_differentiable(_wrapped), "__code__", None)
_is_profiled: Callable[[], bool] = getattr(torch.autograd, "_profiler_enabled", lambda: True)


def unwrapped(optimizer: Optimizer) -> Callable[[], Any]:
    """The `step` of an optimizer without hooks. A replaced `step` is returned as it is."""
    step = type(optimizer).step
    if (
        "step" in vars(optimizer)
        or getattr(step, "__code__", None) is not _HOOKS
        or _is_profiled()
        or torch.compiler.is_compiling()
    ):
        return optimizer.step
    inner: Any = step.__wrapped__  # type: ignore[attr-defined]
    if getattr(inner, "__code__", None) is _GRAD_MODE and not optimizer.defaults["differentiable"]:
        return partial(_without_grad, inner.__wrapped__, optimizer)
    return partial(inner, optimizer)


def _without_grad(step: Callable[[Optimizer], Any], optimizer: Optimizer) -> None:
    before = torch.is_grad_enabled()
    torch._C._set_grad_enabled(False)
    try:
        step(optimizer)
    finally:
        torch._C._set_grad_enabled(before)
