"""A step goes past torch's wrapper only where nobody would miss it."""

from __future__ import annotations

from functools import wraps
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Optimizer
from torch.profiler import profile

from gradledger import Stepper
from gradledger.engine.steps import unwrapped


def trained(optimizer_of: Any = SGD, *, steps: int = 3, before: Any = None) -> list[Tensor]:
    """The parameters after some updates; `before` is given the optimizer first."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = optimizer_of(model.parameters(), lr=0.1)
    if before is not None:
        before(optimizer)
    stepper = Stepper(model, optimizer, clip_norm=1.0)
    for _ in range(steps):
        stepper.backward(model(torch.randn(4, 4)).square().mean())
    assert stepper.updates == steps
    return [p.detach().clone() for p in model.parameters()]


@pytest.fixture
def labels(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is named to the profiler, whether there is one or not."""
    seen: list[str] = []
    record = torch.autograd.profiler.record_function

    def named(name: str) -> Any:
        seen.append(name)
        return record(name)

    monkeypatch.setattr(torch.autograd.profiler, "record_function", named)
    return seen


def test_without_hooks_and_profiler_the_wrapper_is_passed(labels: list[str]) -> None:
    trained()
    assert labels == []


def test_a_hook_is_called_as_often_as_there_are_updates() -> None:
    calls: list[Optimizer] = []

    def hang(optimizer: Optimizer) -> None:
        optimizer.register_step_post_hook(lambda o, args, kwargs: calls.append(o))

    trained(before=hang)
    assert len(calls) == 3


@pytest.mark.parametrize("optimizer_of", [SGD, AdamW])
def test_the_wrapper_changes_no_bit(optimizer_of: Any) -> None:
    def hang(optimizer: Optimizer) -> None:
        optimizer.register_step_post_hook(lambda o, args, kwargs: None)

    alone = trained(optimizer_of)
    watched = trained(optimizer_of, before=hang)
    assert all(map(torch.equal, alone, watched))


def test_a_profiler_sees_each_step() -> None:
    with profile() as seen:
        trained()
    named = {event.key: event.count for event in seen.key_averages()}
    assert named["Optimizer.step#SGD.step"] == 3


def test_a_step_that_was_put_into_the_class_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    original = SGD.step

    @wraps(original)  # which takes over the marks that torch has left on it
    def step(self: SGD, closure: Any = None) -> Any:
        calls.append("step")
        return original(self, closure)

    monkeypatch.setattr(SGD, "step", step)
    trained()
    assert calls == ["step"] * 3


def test_a_step_that_was_put_into_the_optimizer_is_called() -> None:
    calls: list[str] = []

    def put(optimizer: Optimizer) -> None:
        original = optimizer.step

        def step(closure: Any = None) -> Any:
            calls.append("step")
            return original(closure)

        optimizer.step = step  # type: ignore[method-assign]

    trained(before=put)
    assert calls == ["step"] * 3


def test_a_class_with_a_step_of_its_own_is_stepped_by_it(labels: list[str]) -> None:
    class Own(SGD):
        def step(self, closure: Any = None) -> Any:
            labels.append("own")
            return super().step(closure)

    trained(Own)
    # SGD's is a wrapper, too: who calls it by name gets what it always does.
    assert labels == ["own", "Optimizer.step#Own.step"] * 3


def test_an_optimizer_of_no_torch_class_is_asked_at_its_front_door() -> None:
    class Plain:
        def step(self) -> str:
            return "stepped"

    assert unwrapped(Plain())() == "stepped"  # type: ignore[arg-type]
