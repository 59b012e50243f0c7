"""One backward pass that reaches the cells of one model, and no others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from gradledger.errors import LossError


def deposit(loss: object, model: nn.Module, *, divided_by: int = 1) -> None:
    """Backward, with the cells of all but this model left as they were."""
    if not isinstance(loss, Tensor):
        hint = " `.item()` takes the graph away." if isinstance(loss, float) else ""
        raise LossError(f"loss_fn must return a tensor, got {type(loss).__name__}.{hint}")
    if loss.numel() != 1:
        raise LossError(
            f"loss_fn must return one number, got shape {tuple(loss.shape)}. Take its mean: "
            "`loss.mean()`, or `reduction='mean'` in the loss function."
        )
    if not loss.requires_grad:
        raise LossError(
            "the loss of loss_fn has no graph, so that no parameter can get a gradient from it. "
            "Something detached it: `.item()`, `.detach()`, `torch.tensor(loss)`, no_grad."
        )
    # A loss function may have parameters of its own. `backward(inputs=…)` would spare them, but
    # refuses graphs with reentrant checkpoints.
    own = set(model.parameters())
    with empty_cells([leaf for leaf in _leaves(loss) if leaf not in own]):
        torch.autograd.backward(loss / divided_by)


@contextmanager
def empty_cells(leaves: Sequence[Tensor]) -> Iterator[None]:
    """The cells hold None, and get back the very tensors that they held."""
    held = [leaf.grad for leaf in leaves]
    try:
        for leaf in leaves:
            leaf.grad = None
        yield
    finally:
        for leaf, grad in zip(leaves, held, strict=True):
            leaf.grad = grad


def _leaves(loss: Tensor) -> Iterator[Tensor]:
    """Every tensor with a cell that the loss depends on."""
    waiting: list[Any] = [loss.grad_fn]
    met: set[Any] = set()
    while waiting:
        node = waiting.pop()
        if node is None or node in met:
            continue
        met.add(node)
        if (leaf := getattr(node, "variable", None)) is not None:
            yield leaf
        waiting += [following for following, _ in node.next_functions]
