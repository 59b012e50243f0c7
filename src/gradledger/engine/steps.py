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
from torch.optim import optimizer as wrappers


def _wrapped(optimizer: Optimizer) -> None:
    """Anything that torch may wrap."""


def _not_there(step: object) -> None:
    """In place of a wrapper that torch doesn't have: no step was wrapped in it."""


_HOOKS = getattr(Optimizer.profile_hook_step(_wrapped), "__code__", None)
_GRAD_MODE = getattr(
    getattr(wrappers, "_use_grad_for_differentiable", _not_there)(_wrapped), "__code__", None
)
_set_grad_enabled: Callable[[bool], Any] = getattr(
    torch._C, "_set_grad_enabled", torch.set_grad_enabled
)
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
    _set_grad_enabled(False)
    try:
        step(optimizer)
    finally:
        _set_grad_enabled(before)
