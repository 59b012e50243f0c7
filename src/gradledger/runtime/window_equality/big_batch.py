"""Batches as people nest them: one big batch out of several, and copies that no one else sees."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, TypeVar, cast

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from gradledger.errors import OptionError
from gradledger.runtime.window_equality.precision import in_precision

B = TypeVar("B")


def concatenated(batches: Sequence[B]) -> B:
    """The items of all the batches, in order, as one batch of the same structure.

    Tensors are joined along their first dimension. What is no tensor must be the same in every
    batch. Followed are tuples, lists, mappings, named tuples and dataclasses.
    """
    return cast(B, _joined(list(batches), "batch"))


def rows(batch: object) -> int | None:
    """How many rows the tensors of a batch have; None when they do not agree, or there is none."""
    found = {len(leaf) for leaf in _leaves(batch) if isinstance(leaf, Tensor) and leaf.dim()}
    return found.pop() if len(found) == 1 else None


def private(batch: B, dtype: torch.dtype | None) -> B:
    """A copy of every tensor, so that in-place work and gradients stay in it.

    All but integers become `dtype`, unless that is None; the graph they hang on is left behind.
    """

    def alone(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        return in_precision(leaf.detach().clone(), dtype).requires_grad_(leaf.requires_grad)

    return cast(B, _changed(batch, alone))


def _joined(values: list[Any], where: str) -> Any:
    first = values[0]
    if any(type(value) is not type(first) for value in values):
        kinds = sorted({type(value).__name__ for value in values})
        raise _cannot(f"`{where}` is a {' in one and a '.join(kinds)} in another")
    if isinstance(first, Tensor):
        return _tensor(values, where)
    if isinstance(first, PackedSequence):
        raise _cannot(f"`{where}` is a PackedSequence, whose first dimension is not its items")
    parts = [_parts(value) for value in values]
    if parts[0] is None:
        if not all(_same(value, first) for value in values):
            raise _cannot(f"`{where}` isn't a tensor but a {type(first).__name__}, and differs")
        return first
    keys = list(parts[0])
    if any(part is None or set(part) != set(keys) for part in parts):
        raise _cannot(f"`{where}` does not have the same parts in every micro-batch")
    known = cast(list[dict[Any, Any]], parts)
    return _rebuilt(
        first,
        {key: _joined([part[key] for part in known], f"{where}[{key!r}]") for key in keys},
    )


def _tensor(tensors: list[Tensor], where: str) -> Tensor:
    shapes = [tuple(tensor.shape) for tensor in tensors]
    if all(shape == () for shape in shapes):
        if any(not torch.equal(tensor, tensors[0]) for tensor in tensors):
            raise _cannot(f"`{where}` is a single number, and differs")
        return tensors[0]
    if any(shape[1:] != shapes[0][1:] or shape == () for shape in shapes):
        listed = ", ".join(map(str, dict.fromkeys(shapes)))
        raise _cannot(
            f"`{where}` has shapes that differ beyond the first dimension ({listed}), as sequences "
            "padded to different lengths do"
        )
    try:
        return torch.cat(tensors)
    except RuntimeError as error:
        raise _cannot(f"`{where}` can't be joined ({error})") from error


def _same(one: object, other: object) -> bool:
    try:
        return one is other or bool(one == other)
    except ValueError:  # arrays, which compare element by element
        return False


def _cannot(why: str) -> OptionError:
    return OptionError(
        f"the micro-batches can't be made into one big batch: {why}. Say how it is done: "
        "`concatenate=` takes a function from the list of micro-batches to the big batch."
    )


def _leaves(value: Any) -> Iterable[Any]:
    parts = _parts(value)
    if parts is None:
        yield value
    else:
        for part in parts.values():
            yield from _leaves(part)


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    parts = _parts(value)
    if parts is None:
        return change(value)
    new = {key: _changed(part, change) for key, part in parts.items()}
    return _rebuilt(value, new) if any(new[key] is not parts[key] for key in parts) else value


def _parts(value: Any) -> dict[Any, Any] | None:
    """What it is made of, by key, index or field; None for a leaf."""
    if isinstance(value, Mapping):
        return dict(value.items())
    if isinstance(value, (tuple, list)):
        return dict(enumerate(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _rebuilt(value: Any, parts: dict[Any, Any]) -> Any:
    """A copy with other parts: copied where it can be changed, as it may hold more than these."""
    if isinstance(value, tuple):
        make = getattr(type(value), "_make", type(value))
        return make(parts.values())
    if isinstance(value, Mapping) and not isinstance(value, MutableMapping):
        return cast(Any, type(value))(parts)
    new = copy.copy(value)
    for key, part in parts.items():
        if isinstance(value, (MutableMapping, list)):
            new[key] = part
        else:
            object.__setattr__(new, key, part)  # frozen dataclasses, too
    return new
