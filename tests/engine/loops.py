"""Loops as people write them by hand, against which the Stepper is held."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

Batch: TypeAlias = tuple[Tensor, Tensor]
Loss: TypeAlias = Callable[[nn.Module, Batch], Tensor]
MakeOptimizer: TypeAlias = Callable[[Iterable[nn.Parameter]], Optimizer]


class Boom(Exception):
    """What the user's own code raises in these tests."""


class Layers(nn.Sequential):
    """Layers whose weights a test may name, as torch's types do not let it."""

    def __getitem__(self, i: Any) -> Any:
        return super().__getitem__(i)


def net(seed: int = 0, *, dtype: torch.dtype = torch.float64, bias: bool = True) -> Layers:
    """A small model, the same each time."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Layers(nn.Linear(5, 7, bias=bias), nn.Tanh(), nn.Linear(7, 3, bias=bias))
        return model.to(dtype)


def micro_batches(
    *sizes: int, seed: int = 1, dtype: torch.dtype = torch.float64, width: int = 5
) -> list[Batch]:
    """Micro-batches of these sizes, the same each time."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

    return [(normal(size, width), normal(size, 3)) for size in sizes]


def mse(model: nn.Module, batch: Batch) -> Tensor:
    """The mean over the items."""
    x, y = batch
    loss: Tensor = (model(x) - y).square().mean()
    return loss


def failing_in_backward(model: Layers, batch: Batch, error: BaseException) -> Tensor:
    """The same mean. Its backward fails when the last layer has its gradient, the first not."""

    def fail(_: Tensor) -> None:
        raise error

    x, y = batch
    hidden = model[1](model[0](x))
    hidden.register_hook(fail)
    loss: Tensor = (model[2](hidden) - y).square().mean()
    return loss


def windows(batches: Sequence[Batch], size: int) -> list[list[Batch]]:
    """Cut into windows of `size`; the last may be shorter."""
    return [list(batches[i : i + size]) for i in range(0, len(batches), size)]


def merged(window: Sequence[Batch]) -> Batch:
    """One big batch."""
    return torch.cat([x for x, _ in window]), torch.cat([y for _, y in window])


def parameters_of(optimizer: Optimizer) -> list[nn.Parameter]:
    """All of them, in order."""
    return [p for group in optimizer.param_groups for p in group["params"]]


def big_batches(
    model: nn.Module,
    optimizer: Optimizer,
    each: Iterable[Sequence[Batch]],
    *,
    loss: Loss = mse,
    clip_norm: float = math.inf,
    scheduler: torch.optim.lr_scheduler.LRScheduler | None = None,
) -> None:
    """One update per window, from the big batch; an empty window makes none."""
    for window in each:
        if not window:
            continue
        optimizer.zero_grad()
        torch.autograd.backward(loss(model, merged(window)))
        if clip_norm != math.inf:
            nn.utils.clip_grad_norm_(parameters_of(optimizer), clip_norm)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()
    optimizer.zero_grad()


def plain(
    model: nn.Module,
    optimizer: Optimizer,
    batches: Sequence[Batch],
    accumulate: int = 1,
    *,
    loss: Loss = mse,
) -> None:
    """The loop of the tutorials, for micro-batches of the same size and windows all full."""
    for i, batch in enumerate(batches):
        torch.autograd.backward(loss(model, batch) / accumulate)
        if (i + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()


@contextmanager
def unchanged(*things: nn.Module | Optimizer) -> Iterator[None]:
    """Weights and moments are after the block, bit for bit, what they were before it."""
    before = [_copy(thing.state_dict()) for thing in things]
    yield
    for thing, state in zip(things, before, strict=True):
        assert_same(thing.state_dict(), state, exact=True)


def assert_same(
    actual: Any, expected: Any, *, exact: bool = False, tolerance: float = 1e-12
) -> None:
    """The same tensors in the same places, bit for bit or to `tolerance`."""
    _compare(actual, expected, 0.0 if exact else tolerance, "")


def assert_same_model(
    actual: nn.Module, expected: nn.Module, *, exact: bool = False, tolerance: float = 1e-12
) -> None:
    """The same weights and buffers, and none is the other's."""
    pairs = zip(actual.parameters(), expected.parameters(), strict=True)
    assert all(a is not e for a, e in pairs)
    assert_same(actual.state_dict(), expected.state_dict(), exact=exact, tolerance=tolerance)


def assert_equal(actual: Any, expected: Any, where: str = "") -> None:
    """Bit for bit, in the same order."""
    if isinstance(expected, Tensor):
        assert isinstance(actual, Tensor), where
        assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), where
        assert torch.equal(actual.nan_to_num(), expected.nan_to_num()), where
    elif isinstance(expected, dict):
        assert list(actual) == list(expected), where
        for key in expected:
            assert_equal(actual[key], expected[key], f"{where}/{key}")
    elif isinstance(expected, list | tuple):
        assert len(actual) == len(expected), where
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            assert_equal(a, e, f"{where}/{i}")
    else:
        assert actual == expected, where


def _copy(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: _copy(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_copy(each) for each in value)
    return value


def _compare(actual: Any, expected: Any, tolerance: float, where: str) -> None:
    if isinstance(expected, Tensor):
        assert isinstance(actual, Tensor), where
        torch.testing.assert_close(
            actual.detach(),
            expected.detach(),
            rtol=tolerance,
            atol=tolerance,
            equal_nan=True,
            msg=lambda text: f"{where}: {text}",
        )
    elif isinstance(expected, dict):
        assert isinstance(actual, dict), where
        assert set(actual) == set(expected), where
        for key in expected:
            _compare(actual[key], expected[key], tolerance, f"{where}/{key}")
    elif isinstance(expected, (list, tuple)):
        assert isinstance(actual, (list, tuple)), where
        assert len(actual) == len(expected), where
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            _compare(a, e, tolerance, f"{where}/{i}")
    elif isinstance(expected, float) and tolerance:
        assert math.isclose(actual, expected, rel_tol=tolerance, abs_tol=tolerance), where
    else:
        assert actual == expected, where
