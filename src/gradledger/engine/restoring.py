"""Undoes a step that fails (Law 9)."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from gradledger.errors import TornUpdateError


class NotFiniteAfterStep(Exception):
    """The step led to parameters that are not finite. They were put back."""


@contextmanager
def restored_on_failure(optimizer: Optimizer) -> Iterator[None]:
    """Puts parameters and state back if the step ends in an exception, or in NaN or Inf.

    For one that moves parameters while it looks around.
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    values = [p.detach().clone() for p in parameters]
    state = {p: copy.deepcopy(held) for p, held in optimizer.state.items()}
    try:
        yield
        if not all(bool(torch.isfinite(p).all()) for p in parameters):
            raise NotFiniteAfterStep
    except BaseException:
        with torch.no_grad():
            for p, value in zip(parameters, values, strict=True):
                p.copy_(value)
        optimizer.state.clear()
        optimizer.state.update(state)
        raise


@contextmanager
def put_back_on_failure(model: nn.Module, optimizers: Sequence[Optimizer]) -> Iterator[None]:
    """Puts the model and its optimizers back if what is loaded into them does not fit after all."""
    buffers = [(buffer, _copy(buffer)) for buffer in model.buffers()]
    parameters = [(p, _copy(p)) for p in model.parameters()]
    before = [_AsItWas(optimizer) for optimizer in optimizers]
    try:
        yield
    except BaseException:
        with torch.no_grad():
            for live, value in buffers + parameters:
                live.copy_(value)
        for each in before:
            each.come_back()
        raise


class AllOrNone:
    """Several optimizers that step together, one of which may refuse what the others have spent.

    A copy to go back to is too dear for each update. What an optimizer refuses (a dense gradient, a
    sparse one, a type) it refuses the first time. So there is a copy where a gradient is of a kind
    that none of its steps has seen, and else an error that says who has moved.
    """

    def __init__(self, optimizers: Sequence[Optimizer]) -> None:
        self._optimizers = optimizers
        self._seen: set[tuple[int, torch.layout]] = set()
        self.moved: list[Optimizer] = []
        """Those that have stepped in this update."""

    @contextmanager
    def together(self, loose: Mapping[Tensor, Tensor]) -> Iterator[None]:
        """Inside, all of them step. `loose`: what they step from, besides packs."""
        kinds = {(id(p), total.layout) for p, total in loose.items()}
        before = None if kinds <= self._seen else [_AsItWas(o) for o in self._optimizers]
        self.moved = []
        try:
            yield
        except Exception as error:
            if before is not None:
                for each in before:
                    each.come_back()
            elif self.moved:
                raise self._torn(error) from error
            raise
        self._seen |= kinds

    def _torn(self, error: Exception) -> TornUpdateError:
        have = ", ".join(type(optimizer).__name__ for optimizer in self.moved)
        failed = type(self._optimizers[len(self.moved)]).__name__
        return TornUpdateError(
            f"{failed} failed in its step after {have} had moved, and that can't be undone: go "
            f"back to a checkpoint. Cause: {type(error).__name__}: {error}"
        )


class _AsItWas:
    """A copy of an optimizer's parameters and state, in the machine's own memory."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._options = [
            {key: value for key, value in group.items() if key != "params"}
            for group in optimizer.param_groups
        ]
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self._values = [(p, _copy(p)) for p in parameters]
        self._state: dict[Any, dict[str, Any]] = {
            p: {key: (_copy(each), each) for key, each in held.items()}
            for p, held in optimizer.state.items()
        }

    def come_back(self) -> None:
        with torch.no_grad():
            for p, value in self._values:
                p.copy_(value)
            state = self._optimizer.state
            for p in [p for p in state if p not in self._state]:
                del state[p]
            for p, held in self._state.items():
                state[p].clear()
                for key, (value, there) in held.items():
                    state[p][key] = there.copy_(value) if isinstance(there, Tensor) else value
        for group, options in zip(self._optimizer.param_groups, self._options, strict=True):
            group.update(options)


def _copy(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return copy.deepcopy(value)
    value = value.detach()
    return value.cpu() if value.is_cuda and type(value) is Tensor else value.clone()
