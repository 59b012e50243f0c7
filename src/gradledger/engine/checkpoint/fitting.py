"""Does a checkpoint fit? What differs between the saved and the live, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

FEW = 4
"""So many are named, and the others counted."""


def describe(model: nn.Module, optimizers: Sequence[Optimizer]) -> dict[str, Any]:
    """What to save of these: their state, and what tells whether it fits."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}

    def label(parameter: Tensor) -> str:
        return f"{names.get(id(parameter), 'one outside the model')} ({kind_of(parameter)})"

    held = set(map(id, model.state_dict(keep_vars=True).values()))
    return {
        "model": model.state_dict(),
        "optimizers": [
            {
                "class": f"{type(optimizer).__module__}.{type(optimizer).__qualname__}",
                "parameters": [list(map(label, g["params"])) for g in optimizer.param_groups],
                "state": optimizer.state_dict(),
                # What the model's state has not: parameters that only the optimizer knows.
                "outside": {
                    i: p.detach() for i, p in enumerate(_parameters(optimizer)) if id(p) not in held
                },
            }
            for optimizer in optimizers
        ],
    }


def take_up(saved: Mapping[str, Any], model: nn.Module, optimizers: Sequence[Optimizer]) -> None:
    """Loads what fits: `differences` has found none."""
    model.load_state_dict(saved["model"])
    for optimizer, entry in zip(optimizers, saved["optimizers"], strict=True):
        optimizer.load_state_dict(entry["state"])
        parameters = _parameters(optimizer)
        for i, p in enumerate(parameters):
            _keep_types(optimizer.state.get(p, {}), entry["state"]["state"].get(i, {}))
        with torch.no_grad():
            for i, value in entry.get("outside", {}).items():
                parameters[i].copy_(value)


def _keep_types(live: dict[str, Any], saved: Mapping[str, Any]) -> None:
    """Undoes that torch has given state the type of its parameter, and so rounded it."""
    for key, value in saved.items():
        now = live.get(key)
        if isinstance(now, Tensor) and isinstance(value, Tensor) and now.dtype is not value.dtype:
            live[key] = value.to(now.device, copy=True)


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def differences(
    saved: Mapping[str, Any], model: nn.Module, optimizers: Sequence[Optimizer]
) -> list[str]:
    """What keeps the saved from being loaded into the live, in sentences; if none, it can be.

    An optimizer's state goes by position, not by name. So each position must hold the parameter
    that it held: equal shapes alone would let two layers trade their moments.
    """
    try:
        return _differences(saved, model, optimizers)
    except Exception as error:  # something is of a kind that nobody has thought of
        return [f"The checkpoint is damaged: {type(error).__name__}: {error}."]


def _differences(
    saved: Mapping[str, Any], model: nn.Module, optimizers: Sequence[Optimizer]
) -> list[str]:
    live = describe(model, optimizers)
    if not (
        isinstance(saved.get("model"), Mapping)
        and isinstance(saved.get("optimizers"), list)
        and all(map(_is_entry, saved["optimizers"]))
    ):
        return ["The checkpoint holds no model and optimizers."]
    found = list(_model_differences(saved["model"], live["model"]))
    were, are = saved["optimizers"], live["optimizers"]
    if len(were) != len(are):
        return [*found, f"The number of optimizers was {len(were)} and is {len(are)}."]
    for at, (was, now) in enumerate(zip(were, are, strict=True)):
        name = "The optimizer" if len(are) == 1 else f"Optimizer {at}"
        found += _optimizer_differences(name, was, now)
    return found


def _model_differences(saved: Mapping[str, Any], live: Mapping[str, Any]) -> Iterator[str]:
    if missing := [key for key in live if key not in saved]:
        yield f"The model has what the checkpoint lacks: {_few(missing)}."
    if unexpected := [key for key in saved if key not in live]:
        yield f"The checkpoint has what the model lacks: {_few(unexpected)}."
    kinds = {key: (kind_of(saved[key]), kind_of(live[key])) for key in live if key in saved}
    if others := [
        f"{key} was {was} and is {now}" for key, (was, now) in kinds.items() if was != now
    ]:
        yield f"In the model, {_few(others)}."


def _optimizer_differences(name: str, was: Any, now: Any) -> Iterator[str]:
    if was["class"] != now["class"]:
        yield f"{name} was a {was['class']} and is a {now['class']}."
    sizes = [[len(group) for group in each["parameters"]] for each in (was, now)]
    if len(sizes[0]) != len(sizes[1]):
        yield f"{name} had {len(sizes[0])} param groups and has {len(sizes[1])}."
    elif sizes[0] != sizes[1]:
        yield f"{name} had {sizes[0]} parameters in its param groups and has {sizes[1]}."
    else:
        then_and_now = (chain.from_iterable(each["parameters"]) for each in (was, now))
        pairs = zip(*then_and_now, strict=True)
        if moved := [f"{then} where now is {here}" for then, here in pairs if then != here]:
            yield f"{name} had other parameters, or in another order: {_few(moved)}."
        elif _kinds(was.get("outside")) != _kinds(now["outside"]):
            yield (
                f"{name} has parameters that the model has not ({len(now['outside'])}), and the "
                "checkpoint does not hold the values of all of them"
            )
        elif wrong := [i for i, held in _state_of(was).items() if not _is_state(held, was, i)]:
            yield f"{name}'s state of parameter {_few(list(map(str, wrong)))} is damaged"


def _is_entry(entry: object) -> bool:
    """Whether it is of an optimizer, as far as torch would not look."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("class"), str):
        return False
    groups, state = entry.get("parameters"), entry.get("state")
    return (
        isinstance(groups, list)
        and all(isinstance(group, list) for group in groups)
        and isinstance(state, Mapping)
        and isinstance(state.get("state"), Mapping)
        and isinstance(state.get("param_groups"), list)
        and all(isinstance(group, Mapping) for group in state["param_groups"])
        and [len(group) for group in groups]
        == [len(group.get("params", ())) for group in state["param_groups"]]
    )


def _state_of(entry: Mapping[str, Any]) -> Mapping[Any, Any]:
    state: Mapping[Any, Any] = entry["state"]["state"]
    return state


def _is_state(held: object, entry: Mapping[str, Any], which: object) -> bool:
    count = sum(map(len, entry["parameters"]))
    return isinstance(held, Mapping) and (not isinstance(which, int) or 0 <= which < count)


def _kinds(outside: object) -> dict[Any, str]:
    return {i: kind_of(p) for i, p in outside.items()} if isinstance(outside, Mapping) else {}


def kind_of(value: object) -> str:
    """Type and shape, to be compared and to be shown."""
    if not isinstance(value, Tensor):
        return "no tensor"
    if is_lazy(value):
        return "not initialized"
    layout = "" if value.layout == torch.strided else f" {value.layout}"
    return f"{value.dtype} {list(value.shape)}{layout}{' on meta' * value.is_meta}"


def _few(things: list[str]) -> str:
    more = f" and {len(things) - FEW} more" if len(things) > FEW else ""
    return ", ".join(things[:FEW]) + more
