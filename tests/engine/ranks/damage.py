"""Shared states with a wrong thing inside: told before anything has changed."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import torch
from torch.optim import AdamW

from gradledger import CheckpointError, Stepper
from tests.engine.loops import assert_equal, net
from tests.engine.ranks.stories import mine, raises, replicate, weights


def _loaded(value: bytes) -> Any:
    return torch.load(io.BytesIO(value), weights_only=True)


def _saved(value: Any) -> bytes:
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


def _in_rest(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], None]:
    def damage(state: dict[str, Any]) -> None:
        rest = _loaded(state["rest"])
        change(rest)
        state["rest"] = _saved(rest)

    return damage


def _in_each(change: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], None]:
    def damage(rest: dict[str, Any]) -> None:
        each = [_loaded(one) for one in rest["each"]]
        change(each[-1])
        rest["each"] = [_saved(one) for one in each]

    return _in_rest(damage)


def _first_sum(state: dict[str, Any]) -> str:
    name: str = _loaded(state["rest"])["reached"][0]
    return name


DAMAGES: dict[str, Callable[[dict[str, Any]], object]] = {
    "no rest": lambda state: state.pop("rest"),
    "another rest": lambda state: state.update(rest=b"something"),
    "no sums": lambda state: state.pop("sums"),
    "a sum less": lambda state: state["sums"].pop(_first_sum(state)),
    "a sum of another shape": lambda state: state["sums"].update(
        {_first_sum(state): torch.zeros(1, dtype=torch.float64)}
    ),
    "a sum that is none": lambda state: state["sums"].update({_first_sum(state): "one"}),
    "no unit": _in_rest(lambda rest: rest.pop("unit")),
    "a unit that is no number": _in_rest(lambda rest: rest.update(unit="1")),
    "more ranks than states": _in_rest(lambda rest: rest.update(ranks=rest["ranks"] + 1)),
    "a sum of nobody": _in_rest(lambda rest: rest["reached"].append("nobody")),
    "no window": _in_each(lambda one: one.pop("window")),
    "no weight": _in_each(lambda one: one["window"].pop("weight")),
    "another epoch": _in_each(lambda one: one["position"].update(epoch="first")),
    "no counts": _in_each(lambda one: one.update(counts=None)),
}


def a_damaged_shared_state_changes_nothing() -> None:
    """On every rank, also on those whose own part of it is whole."""
    model = replicate(net())
    optimizer = AdamW(model.parameters(), 0.01)
    stepper = Stepper(model, optimizer, accumulate=3)
    batches = stepper.over(mine(2, 3, 1, 2, 4))
    for _, (x, y) in zip(range(4), batches, strict=False):
        stepper.backward((model(x) - y).square().mean(), items=len(y))
    shared = stepper.shared_state_dict()
    before = weights(model), stepper.state_dict()
    for name, damage in DAMAGES.items():
        state = shared | {"sums": dict(shared["sums"])}
        damage(state)
        with raises(CheckpointError):
            stepper.load_shared_state_dict(state)
        assert_equal((weights(model), stepper.state_dict()), before, f"{name}: ")
    stepper.load_shared_state_dict(shared)
