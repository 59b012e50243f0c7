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

    return {
        "model": model.state_dict(),
        "optimizers": [
            {
                "class": f"{type(optimizer).__module__}.{type(optimizer).__qualname__}",
                "parameters": [list(map(label, g["params"])) for g in optimizer.param_groups],
                "state": optimizer.state_dict(),
            }
            for optimizer in optimizers
        ],
    }


def differences(
    saved: Mapping[str, Any], model: nn.Module, optimizers: Sequence[Optimizer]
) -> list[str]:
    """What keeps the saved from being loaded into the live, in sentences; if none, it can be.

    An optimizer's state goes by position, not by name. So each position must hold the parameter
    that it held: equal shapes alone would let two layers trade their moments.
    """
    live = describe(model, optimizers)
    if not live.keys() <= saved.keys():
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
