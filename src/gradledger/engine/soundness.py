"""Is a state what a Stepper has saved? Asked before anything is changed.

What can be tried on something else is tried: generators take a state or do not, and these are
nobody's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

import torch
from torch import Tensor


def flaws(
    state: Mapping[str, Any], live: Mapping[str, Any], parameters: Sequence[Tensor]
) -> Iterator[str]:
    """What in a state can't be, in sentences. `live`: the same of the Stepper as it is now."""
    places = range(len(parameters))

    def is_place(value: object) -> bool:
        return _is_count(value) and value in places

    def is_sum(value: Any) -> bool:
        if not (_is_pair(value) and is_place(value[0]) and isinstance(value[1], Tensor)):
            return False
        p, total = parameters[value[0]], value[1]
        alike: bool = total.is_floating_point() == p.is_floating_point()
        return alike and total.shape == p.shape

    def is_pack(value: object) -> bool:
        return isinstance(value, list) and len(value) > 1 and all(map(is_place, value))

    sound: dict[str, Callable[[Any], bool]] = {
        "accumulate": _is_count,
        "parameters": lambda value: all(isinstance(each, str) for each in value),
        "window": lambda value: all(_WINDOW[key](value[key]) for key in _WINDOW),
        "losses": lambda value: all(map(_is_loss, value)),
        "sums": lambda value: all(map(is_sum, value)) and _once(place for place, _ in value),
        "packs": lambda value: (
            all(map(is_pack, value)) and _once(p for each in value for p in each)
        ),
        "irregular": lambda value: all(
            _is_pair(each) and is_place(each[0]) and isinstance(each[1], str) for each in value
        ),
        "packed": _is_bool,
        "counts": lambda value: all(_is_count(value[key]) for key in live["counts"]),
        "position": lambda value: (
            _is_count(value["epoch"]) and _is_count(value["done"]) and _is_length(value["length"])
        ),
        "start": lambda value: value is None or value == {} or _is_randomness(value),
        "random": _is_randomness,
        "scaler": lambda value: value is None or _is_scaler(value, live["scaler"]),
        "schedulers": lambda value: all(
            _is_pair(each) and isinstance(each[0], str) and isinstance(each[1], Mapping)
            for each in value
        ),
    }
    for key, is_sound in sound.items():
        if not is_sound(state[key]):
            yield f"its {key!r} is damaged: {_shown(state[key])}"


def unlike(saved: Mapping[str, Any], live: Mapping[str, Any]) -> bool:
    """Whether what a scheduler has saved can't be of one like this."""
    return any(key in saved and not _alike(saved[key], value) for key, value in live.items())


def _alike(one: object, other: object) -> bool:
    numbers = (int, float, Tensor)
    return (
        one is None
        or other is None
        or isinstance(one, type(other))
        or isinstance(other, type(one))
        or (isinstance(one, numbers) and isinstance(other, numbers))
        or (isinstance(one, list | tuple) and isinstance(other, list | tuple))
    )


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_amount(value: object) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and isfinite(value) and value >= 0  # type: ignore[operator, arg-type]


def _is_length(value: object) -> bool:
    return value is None or _is_count(value)


_WINDOW: dict[str, Callable[[object], bool]] = {
    "begun": _is_count,
    "deposits": _is_count,
    "weight": _is_amount,
    "first_items": _is_amount,
    "dropped": _is_bool,
    "itemless": _is_bool,
    "unit": _is_amount,
}


def _is_pair(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) == 2


def _is_loss(value: Any) -> bool:
    return (
        _is_pair(value)
        and _is_count(value[0])
        and isinstance(value[1], Tensor)
        and value[1].numel() == 1
    )


def _once(values: Iterator[int]) -> bool:
    every = list(values)
    return len(set(every)) == len(every)


def _is_scaler(value: object, live: Mapping[str, Any] | None) -> bool:
    return isinstance(value, Mapping) and all(
        key in value and _alike(value[key], now) and value[key] is not None
        for key, now in (live or {}).items()
    )


def _is_randomness(value: Any) -> bool:
    if not isinstance(value, Mapping) or "torch" not in value or "python" not in value:
        return False
    try:
        version, words, gauss = value["python"]
        random.Random().setstate((version, tuple(words), gauss))
        for key, state in value.items():
            if key == "torch" or (isinstance(key, str) and key.startswith("data ")):
                torch.Generator().set_state(state)
            elif key == "cuda" and not all(isinstance(each, Tensor) for each in state):
                return False
        if "numpy" in value:
            import numpy

            kind, keys, *rest = value["numpy"]
            numpy.random.RandomState().set_state((kind, keys.numpy().astype("uint32"), *rest))
    except ImportError:
        return True  # `restore` will say so
    except Exception:
        return False
    return True


def _shown(value: object) -> str:
    text = repr(value).replace("\n", " ")
    return text if len(text) <= 60 else f"{text[:60]}…"
