"""A short program for each message: it makes torch, or Python, say exactly that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn


def _leaf() -> Tensor:
    return torch.ones(2, requires_grad=True)


def _scaled(
    model: nn.Module | None = None,
) -> tuple[torch.optim.Optimizer, torch.amp.GradScaler]:
    """An optimizer with scaled gradients, and their scaler."""
    model = nn.Linear(1, 1) if model is None else model
    dtype = next(model.parameters()).dtype
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(model(torch.ones(1, 1, dtype=dtype)).sum()).backward()
    return optimizer, scaler


def _backward(loss: Tensor, **options: Any) -> None:
    loss.backward(**options)  # type: ignore[no-untyped-call]


def backward_second_time() -> None:
    w = _leaf()
    loss = (w * w).sum()
    _backward(loss)
    _backward(loss)


def modified_in_place() -> None:
    model = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = model(torch.ones(1, 1)).sum()
    _backward(loss, retain_graph=True)
    optimizer.step()
    _backward(loss)


def unscale_twice() -> None:
    optimizer, scaler = _scaled()
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)


def step_twice() -> None:
    optimizer, scaler = _scaled()
    scaler.step(optimizer)
    scaler.step(optimizer)


def unscale_after_step() -> None:
    optimizer, scaler = _scaled()
    scaler.step(optimizer)
    scaler.unscale_(optimizer)


def update_without_step() -> None:
    _, scaler = _scaled()
    scaler.update()


def step_without_gradients() -> None:
    optimizer, scaler = _scaled()
    optimizer.zero_grad()
    scaler.step(optimizer)


def fp16_unscale() -> None:
    optimizer, scaler = _scaled(nn.Linear(1, 1).half())
    scaler.unscale_(optimizer)


def none_has_no_attribute() -> None:
    gradient: Any = nn.Linear(1, 1).weight.grad
    gradient.norm()


def none_in_arithmetic() -> None:
    gradient: Any = nn.Linear(1, 1).weight.grad
    gradient * 2


def no_grad_fn() -> None:
    _backward(torch.ones(1).sum())


def only_scalars() -> None:
    _backward(_leaf() * 2)


def leaf_in_place() -> None:
    _leaf().sub_(1)


def non_leaf_optimized() -> None:
    torch.optim.SGD([_leaf() * 2], lr=0.1)


def non_leaf_grad() -> None:
    result = _leaf() * 2
    _backward(result.sum())
    _ = result.grad


def empty_parameter_list() -> None:
    torch.optim.SGD([], lr=0.1)


def scheduler_before_optimizer() -> None:
    optimizer = torch.optim.SGD([_leaf()], lr=0.1)
    torch.optim.lr_scheduler.StepLR(optimizer, 1).step()


def non_finite_norm() -> None:
    parameter = nn.Parameter(torch.ones(1))
    parameter.grad = torch.full((1,), float("nan"))
    nn.utils.clip_grad_norm_([parameter], 1.0, error_if_nonfinite=True)


def not_used_in_graph() -> None:
    torch.autograd.grad(_leaf().sum(), [_leaf()])


def optimizer_state_size() -> None:
    small, large = nn.Linear(1, 1), nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
    state = torch.optim.SGD(small.parameters(), lr=0.1).state_dict()
    torch.optim.SGD(large.parameters(), lr=0.1).load_state_dict(state)


def numpy_requires_grad() -> None:
    _leaf().numpy()


PROVOCATIONS: dict[str, tuple[Callable[[], None], ...]] = {
    "none-has-no-attribute": (none_has_no_attribute,),
    "none-in-arithmetic": (none_in_arithmetic,),
    "backward-second-time": (backward_second_time,),
    "modified-in-place": (modified_in_place,),
    "unscale-twice": (unscale_twice,),
    "step-twice": (step_twice,),
    "unscale-after-step": (unscale_after_step,),
    "no-inf-checks": (update_without_step, step_without_gradients),
    "fp16-unscale": (fp16_unscale,),
    "no-grad-fn": (no_grad_fn,),
    "only-scalars": (only_scalars,),
    "leaf-in-place": (leaf_in_place,),
    "non-leaf-optimized": (non_leaf_optimized,),
    "non-leaf-grad": (non_leaf_grad,),
    "empty-parameter-list": (empty_parameter_list,),
    "scheduler-before-optimizer": (scheduler_before_optimizer,),
    "non-finite-norm": (non_finite_norm,),
    "not-used-in-graph": (not_used_in_graph,),
    "optimizer-state-size": (optimizer_state_size,),
    "numpy-requires-grad": (numpy_requires_grad,),
}
"""By the name of the entry, in the order of its messages."""
