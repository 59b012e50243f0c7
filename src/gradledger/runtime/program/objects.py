"""Looks at the program's objects and runs no code of theirs.

An attribute may be a property, a mapping may import a library when it is gone through, and what an
object says of its class need not be so. What is read here is what Python itself keeps.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, TypeGuard, TypeVar

import torch
from torch import Tensor, nn

T = TypeVar("T")

# Of a class: its own metaclass may have put others in their place.
_mro: Any = vars(type)["__mro__"].__get__
_vars: Any = vars(type)["__dict__"].__get__
_is_below = type.__subclasscheck__


def is_a(value: object, kind: type[T]) -> TypeGuard[T]:
    """As `isinstance`, by the true class of the value alone."""
    return _is_below(kind, type(value))


def has(value: object, name: str) -> bool:
    """Whether the class of the value defines or inherits this attribute."""
    return any(name in _vars(kind) for kind in _mro(type(value)))


def attributes(value: object) -> dict[str, Any]:
    """The attributes of the object itself; none where its class keeps them elsewhere."""
    for kind in _mro(type(value)):
        descriptor = _vars(kind).get("__dict__")
        if descriptor is not None:
            if type(descriptor) not in (GetSetDescriptorType, MemberDescriptorType):
                return {}
            found = descriptor.__get__(value)
            return found if type(found) is dict else {}
    return {}


def items(value: object) -> list[tuple[Any, Any]] | None:
    """What a dict holds, by whatever name it goes; None for all else."""
    return list(dict.items(value)) if is_a(value, dict) else None


def elements(value: object) -> list[Any] | None:
    """What a list, a tuple, a set or a dict holds; None for all else."""
    kind: Any
    for kind in (list, tuple, set, frozenset):
        if is_a(value, kind):
            return list(kind.__iter__(value))
    return list(dict.values(value)) if is_a(value, dict) else None


def is_numpys(value: object) -> bool:
    """Whether numpy made its class: an array, or a number."""
    home: object = type.__getattribute__(type(value), "__module__")
    return type(home) is str and home == "numpy"


def key_in_words(key: object) -> str:
    """How a program would write the key of a dict; `…`, where only its own code could say."""
    return repr(key) if type(key) in (str, int, bool, float, bytes, type(None)) else "…"


# Modules


def modules_in(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """The module and those inside, each once, with the prefix of what is in it."""
    seen: set[int] = set()
    waiting = [("", module)]
    while waiting:
        prefix, one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield prefix, one
            inside = items(attributes(one).get("_modules")) or ()
            waiting += [
                (f"{prefix}{name}.", part)
                for name, part in reversed(inside)
                if is_a(part, nn.Module)
            ]


def parameters_in(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """As `named_parameters()`, which a program may have overridden."""
    return _tensors_in(module, "_parameters")


def buffers_in(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """As `named_buffers()`."""
    return _tensors_in(module, "_buffers")


def _tensors_in(module: nn.Module, kept: str) -> Iterator[tuple[str, Tensor]]:
    seen: set[int] = set()
    for prefix, part in modules_in(module):
        if is_a(part, torch.jit.ScriptModule):  # keeps all that is in it in C++: torch's own code
            found = list(getattr(nn.Module, f"named{kept}")(part))
        else:
            found = items(attributes(part).get(kept)) or []
        for name, tensor in found:
            if is_a(tensor, Tensor) and id(tensor) not in seen:
                seen.add(id(tensor))
                yield f"{prefix}{name}", tensor
