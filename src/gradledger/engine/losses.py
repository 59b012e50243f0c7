"""What can be deposited: a loss, and the number of items it is the mean of."""

from __future__ import annotations

from math import inf, isfinite
from numbers import Real
from typing import TypeAlias

import torch
from torch import Tensor

from gradledger.errors import LossError

Items: TypeAlias = int | float | Tensor
"""How many items a loss is the mean of."""

_LARGE = 2**53


def check_loss(loss: object) -> None:
    """Raises LossError unless a gradient can be had from it."""
    if not isinstance(loss, Tensor):
        kind = type(loss).__name__
        hint = " `.item()` takes the graph away: pass the tensor." if kind == "float" else ""
        raise LossError(f"the loss must be a tensor, got {kind}.{hint}")
    if loss.numel() != 1:
        raise LossError(
            f"the loss must be one number, got shape {tuple(loss.shape)}. Take its mean: "
            "`loss.mean()`, or `reduction='mean'` in the loss function."
        )
    if loss.is_complex():
        raise LossError(
            f"the loss must be a real number, got {loss.dtype}. Take what is to become small: "
            "`loss.abs()`, or `loss.real`."
        )
    if not loss.requires_grad:
        why = " It was computed under torch.no_grad()." if not torch.is_grad_enabled() else ""
        raise LossError(
            f"the loss has no graph, so no parameter can get a gradient from it.{why} Something "
            "detached it (`.item()`, `.detach()`, `torch.tensor(loss)`, no_grad), or every "
            "parameter is frozen."
        )


def count(items: Items) -> float:
    """The number of items as a float; raises LossError unless it is positive and finite."""
    if type(items) is int and 0 < items < _LARGE:  # what nearly everybody passes
        return float(items)
    if isinstance(items, Tensor):
        if items.numel() != 1:
            raise LossError(f"items must be one number, got shape {tuple(items.shape)}.")
        items = items.item()
    real: object = items
    if isinstance(real, bool) or not isinstance(real, Real):  # NumPy's are real, too
        raise LossError(f"items must be a number, got {type(items).__name__}.")
    if items == 0:
        raise LossError(
            "items is 0: the mean over nothing has no gradient. Leave the micro-batch out: "
            "`if items == 0: continue`."
        )
    try:
        number = float(items)
    except OverflowError:
        number = inf
    if not isfinite(number) or number <= 0:
        raise LossError(f"items must be a positive number, got {items!r:.40}.")
    return number


def advise(error: BaseException) -> None:
    """What torch's own words do not say."""
    if not isinstance(error, RuntimeError) or "second time" not in str(error):
        return
    note(
        error,
        "With a Stepper: a hidden state that is carried into the next micro-batch needs "
        "stepper.detach(state); two losses that share a graph need retain_graph=True on the first.",
    )


def note(error: BaseException, text: str) -> None:
    """Shown with the error, where Python can."""
    if hasattr(error, "add_note"):
        error.add_note(text)
