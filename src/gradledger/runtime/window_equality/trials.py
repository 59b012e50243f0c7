"""Gradients had from copies: whatever is tried, the model they were made from does not notice."""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from gradledger.errors import LossError, OptionError
from gradledger.runtime.window_equality.agreement import Gradients
from gradledger.runtime.window_equality.deposit import empty_cells
from gradledger.runtime.window_equality.off_the_books import off_the_books
from gradledger.runtime.window_equality.precision import in_precision

M = TypeVar("M", bound=nn.Module)


class Trials(Generic[M]):
    """Every trial starts from the same weights, buffers and random numbers, in one precision.

    While it is open, the model's own cells are put aside: what lands in them by mistake is thrown
    away. Afterwards they, and every random number generator, are as they were.
    """

    def __init__(self, model: M, dtype: torch.dtype | None) -> None:
        self._model = model
        self._dtype = dtype
        self._surroundings = ExitStack()

    def __enter__(self) -> Trials[M]:
        with ExitStack() as opening:
            opening.enter_context(off_the_books())
            # Inference tensors can't be copied into a model that is to learn.
            opening.enter_context(torch.inference_mode(False))
            opening.enter_context(torch.enable_grad())
            opening.enter_context(empty_cells(list(self._model.parameters())))
            self._random = _random_state()
            opening.callback(_set_random_state, self._random)
            self._copy = _copied(self._model, self._dtype)
            self._surroundings = opening.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._surroundings.close()

    def gradients(self, deposit: Callable[[M], object], *, by: str) -> Gradients:
        """What `deposit` leaves in the cells of the model that it is given."""
        model = copy.deepcopy(self._copy)
        _set_random_state(self._random)
        with _explained(by, self._dtype):
            deposit(model)
        self._check(model, by)
        self._last = model
        return {
            name: _plain(parameter)
            for name, parameter in model.named_parameters()
            if parameter.requires_grad
        }

    def drew_random_numbers(self) -> bool:
        """Has the last trial made use of torch's random numbers?"""
        now = _random_state()
        return any(
            not torch.equal(before, after)
            # Not strict: a device that was first used in the trial has no state from before.
            for before, after in zip(self._random["torch"], now["torch"], strict=False)
        )

    def changed_buffers(self) -> tuple[str, ...]:
        """The buffers that the last trial has written to."""
        pairs = zip(self._last.named_buffers(), self._copy.buffers(), strict=False)
        return tuple(name for (name, now), before in pairs if not torch.equal(now, before))

    def _check(self, model: M, by: str) -> None:
        if any(parameter.grad is not None for parameter in self._model.parameters()):
            raise OptionError(
                f"{by} made its backward passes through your model itself, and not through the "
                "copy that it was given as first argument. (Your model's gradients are as they "
                "were.)"
            )
        moved = [
            name
            for (name, parameter), before in zip(
                model.named_parameters(), self._copy.parameters(), strict=True
            )
            if not torch.equal(parameter, before)
        ]
        if moved:
            raise OptionError(
                f"{by} changed the parameter {moved[0]}. It should make the backward passes of one "
                "window and leave it there: no optimizer.step(), no zero_grad()."
            )
        if all(parameter.grad is None for parameter in model.parameters()):
            raise LossError(
                f"{by} left no gradient in the model that it was given. Either it uses another "
                "model than its first argument, or it never calls backward(), or it calls "
                "zero_grad() after it."
            )


def _copied(model: M, dtype: torch.dtype | None) -> M:
    if any(isinstance(p, nn.UninitializedParameter) for p in model.parameters()):
        raise OptionError("a lazy module of the model has no parameters yet: run it once first.")
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise OptionError(
            "the model has no trainable parameter, so that there are no gradients to compare. "
            "Set requires_grad on what is trained."
        )
    try:
        model = copy.deepcopy(model)
    except Exception as error:
        raise OptionError(
            f"the model can't be copied ({type(error).__name__}: {error}). Hand over the plain "
            "module (`ddp.module`), with no tensors in its attributes that hang on a graph."
        ) from error
    with _explained("the model", dtype):
        # Not `model.to(dtype)`: it makes complex parameters real.
        model._apply(lambda tensor: in_precision(tensor, dtype))  # type: ignore[no-untyped-call]
    return model


@contextmanager
def _explained(by: str, dtype: torch.dtype | None) -> Iterator[None]:
    """A complaint about precision gets the way out."""
    try:
        yield
    except (RuntimeError, TypeError) as error:
        said = str(error)
        if dtype is None or not any(word in said for word in ("dtype", "Double", "float64")):
            raise
        raise OptionError(
            f"{by} does not work in {dtype}: {said}. The comparison is made on a copy in float64, "
            "so that rounding is no part of it. Use the model that is handed over, and let tensors "
            "of your own (class weights, masks) follow the batch: `weight.to(x)`. Where that can't "
            "be, `dtype=None` compares in the model's own precision; give `rtol=` what that needs."
        ) from error


def _plain(parameter: nn.Parameter) -> Tensor:
    grad = parameter.grad
    if grad is None:
        grad = torch.zeros_like(parameter)
    dense = grad.detach() if grad.layout == torch.strided else grad.detach().to_dense()
    return (torch.view_as_real(dense) if dense.is_complex() else dense).to("cpu", torch.float64)


def _random_state() -> dict[str, Any]:
    state: dict[str, Any] = {"torch": [torch.get_rng_state()], "python": random.getstate()}
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        state["torch"] += torch.cuda.get_rng_state_all()
    if "numpy" in sys.modules:
        state["numpy"] = sys.modules["numpy"].random.get_state()
    return state


def _set_random_state(state: dict[str, Any]) -> None:
    cpu, *devices = state["torch"]
    torch.set_rng_state(cpu)
    if devices:
        torch.cuda.set_rng_state_all(devices)
    random.setstate(state["python"])
    if "numpy" in state:
        sys.modules["numpy"].random.set_state(state["numpy"])
