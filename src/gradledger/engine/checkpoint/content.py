"""What can be saved: what torch.load(weights_only=True) makes again, measured with torch 2.13."""

from __future__ import annotations

import types
from collections import Counter, OrderedDict
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from gradledger.errors import CheckpointError

AS_THEY_ARE = {
    *(types.NoneType, bool, float, complex, str, bytearray),
    *(torch.Size, torch.dtype, torch.device, torch.layout),
}
LARGEST = 2039
"""Bits of an integer. The pickles of larger ones have an instruction that torch does not know."""


def plain(value: Any, where: str) -> Any:
    """The same in types that load without running code; tensors without graph and attributes."""
    kind = type(value)
    if kind in AS_THEY_ARE or (kind is int and value.bit_length() <= LARGEST):
        return value
    if kind is bytes and value:  # torch can't load empty ones
        return value
    if kind in (Tensor, nn.Parameter) and not value.is_meta:
        return value.detach()
    if kind in (list, tuple, set):
        return kind([plain(item, f"{where}[{at}]") for at, item in enumerate(value)])
    if kind in (dict, OrderedDict, Counter):
        new: Any = kind()
        for key, item in value.items():
            new[plain(key, f"a key of {where}")] = plain(item, _at(where, key))
        if kind is OrderedDict:  # a module's state_dict() has its versions in an attribute
            vars(new).update(plain(vars(value), where))
        return new
    if kind.__module__ == "numpy" and getattr(value, "shape", None) == ():
        number = value.item()
        if type(number) is not kind:
            return plain(number, where)
    raise CheckpointError(
        f"{where} is {_named(value)}, which a checkpoint can't hold. {_instead(value)} No file was "
        "changed."
    )


def _at(where: str, key: object) -> str:
    if isinstance(key, str) and key.isidentifier():
        return f"{where}.{key}" if where else key
    return f"{where}[{key!r}]"


def _named(value: object) -> str:
    if isinstance(value, type):
        return f"the class {value.__qualname__}"
    if isinstance(value, types.FunctionType):
        return f"a function ({value.__module__}.{value.__qualname__})"
    if isinstance(value, Tensor) and value.is_meta:
        return "a tensor on the meta device"
    if type(value) is int:
        return f"an integer of {value.bit_length()} bits"
    if type(value) is bytes:
        return "an empty bytes object"
    return f"of type {type(value).__module__}.{type(value).__qualname__}"


def _instead(value: object) -> str:
    if isinstance(value, Tensor) and is_lazy(value):
        return "It has no values yet: run the model once, then save."
    if isinstance(value, Tensor) and value.is_meta:
        return "It has no values: give the model some with to_empty() or load_state_dict(), first."
    if isinstance(value, Tensor):
        return "Save a plain tensor with its values: DTensor has full_tensor() for that."
    if type(value).__module__ == "numpy":
        return "Save torch.from_numpy() of it, or its tolist()."
    for plain in (tuple, dict, list, set, str, int, float):
        if isinstance(value, plain):
            return f"Save a plain {plain.__name__} of it."
    return (
        "To make it again, code would have to run. Save what it is made of (numbers, strings, "
        "tensors, and lists or dicts of them), and build it before you load."
    )
