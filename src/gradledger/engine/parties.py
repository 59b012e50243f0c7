"""Checks the models, optimizers and schedulers that a Stepper is given."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from torch import nn, optim
from torch.amp import GradScaler
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from gradledger.errors import OptionError

T = TypeVar("T")


def several(one_or_more: T | Iterable[T] | None) -> tuple[T, ...]:
    """What was given as one, as some or as None."""
    if one_or_more is None:
        return ()
    if isinstance(one_or_more, list | tuple):
        return tuple(one_or_more)
    return (one_or_more,)  # type: ignore[return-value]


def check_model(model: object) -> None:
    """Raises OptionError for what is no module."""
    if not isinstance(model, nn.Module):
        raise OptionError(
            f"model must be an nn.Module, got {type(model).__name__}. Several go into one "
            "nn.ModuleList."
        )


def check_optimizers(model: nn.Module, optimizers: Sequence[object]) -> None:
    """Raises OptionError for what is no optimizer, and for owners in dispute (Law 6)."""
    if not optimizers:
        raise OptionError("a Stepper needs an optimizer, got none.")
    owner: dict[int, Optimizer] = {}
    for optimizer in optimizers:
        if not isinstance(optimizer, Optimizer):
            raise OptionError(
                f"optimizer must be a torch.optim.Optimizer, got {type(optimizer).__name__}."
            )
        if takes_two_passes(optimizer):
            raise OptionError(
                f"{type(optimizer).__name__} steps twice for each batch (first_step, second_step): "
                "a window can't be kept whole between them. Call them by hand, without a Stepper."
            )
        if sum(other is optimizer for other in optimizers) > 1:
            raise OptionError("an optimizer is in the list twice: it would step twice.")
        for group in optimizer.param_groups:
            for p in group["params"]:
                if owner.setdefault(id(p), optimizer) is not optimizer:
                    raise OptionError("a parameter is in two of the optimizers. Give it one owner.")
    if any(evaluates(optimizer) for optimizer in optimizers) and len(optimizers) > 1:
        raise OptionError("an optimizer that evaluates the loss itself can't be one of several.")
    if not any(id(p) in owner for p in model.parameters()):
        raise OptionError(
            "the optimizer holds no parameter of this model. Was the model copied, moved or "
            "rebuilt after the optimizer was made?"
        )


def check_schedulers(schedulers: Sequence[object], optimizers: Sequence[Optimizer]) -> None:
    """Raises OptionError for schedulers that can't move once per update."""
    for scheduler in schedulers:
        if isinstance(scheduler, ReduceLROnPlateau):
            raise OptionError(
                "ReduceLROnPlateau needs a metric: call scheduler.step(metric) in your own loop, "
                "after each evaluation."
            )
        if not isinstance(scheduler, LRScheduler):
            kind = type(scheduler).__name__
            raise OptionError(f"scheduler must be a torch.optim.lr_scheduler, got {kind}.")
        if not any(scheduler.optimizer is optimizer for optimizer in optimizers):
            raise OptionError(
                f"the scheduler {type(scheduler).__name__} belongs to an optimizer that this "
                "Stepper does not step."
            )


def check_scaler(scaler: object, optimizers: Sequence[Optimizer]) -> None:
    """Raises OptionError for what is no GradScaler, or can't be used with these optimizers."""
    if scaler is None:
        return
    if not isinstance(scaler, GradScaler):
        raise OptionError(f"scaler must be a torch.amp.GradScaler, got {type(scaler).__name__}.")
    if scaler.is_enabled() and any(evaluates(optimizer) for optimizer in optimizers):
        raise OptionError("a GradScaler can't be used with an optimizer that evaluates the loss.")


def check_data(data: object) -> None:
    """Raises OptionError for what nothing can be drawn from."""
    if not hasattr(data, "__iter__") and not hasattr(data, "__getitem__"):
        raise OptionError(
            f"over() needs something to draw micro-batches from (a DataLoader, a list, a "
            f"generator), got {type(data).__name__}."
        )


def check_path(path: object) -> None:
    """Raises OptionError for what names no file."""
    if not isinstance(path, str | os.PathLike):
        raise OptionError(f"the path must be a string or a Path, got {type(path).__name__}.")


def takes_two_passes(optimizer: Optimizer) -> bool:
    """SAM and its like."""
    return hasattr(optimizer, "first_step") and hasattr(optimizer, "second_step")


def evaluates(optimizer: Any) -> bool:
    """Whether its step calls a closure that computes the loss: it can't do without one."""
    if isinstance(optimizer, optim.LBFGS):
        return True
    closure = inspect.signature(type(optimizer).step).parameters.get("closure")
    return closure is not None and closure.default is inspect.Parameter.empty
