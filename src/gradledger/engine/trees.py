"""What a batch or a hidden state can be: tensors, and whatever people nest them in.

Followed are lists, tuples, mappings, named tuples and dataclasses, and what is derived from them.
Any other object is handed on as it is.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSequence
from typing import Any, TypeVar, cast

import torch
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from gradledger.errors import OptionError

T = TypeVar("T")

PLAIN = (str, bytes, bytearray, bool, int, float, complex, type(None))


def detach(state: T) -> T:
    """The same structure without its graph. The tensors share their memory with the old ones."""
    return _changed(state, lambda leaf: leaf.detach() if isinstance(leaf, Tensor) else leaf)


def rows(batch: object) -> int | None:
    """How many rows all columns of the batch have; None when that can't be told.

    A column is a tensor or an array that has a dimension, or a list or tuple of plain values:
    strings, numbers, None. Each counts, so that a stray `(224, 224)` in a batch of eight gives None
    and does not go unasked into every piece. None is also the answer to what might be cut in the
    wrong way: lists of lists (are these rows, or columns?), a PackedSequence, sparse and nested
    tensors, objects of unknown kind that have a length. A list of tensors is a list of columns.
    """
    with _bottom_in_reach():
        lengths = set(_lengths(batch))
    return lengths.pop() if len(lengths) == 1 else None


def split(batch: T, size: int) -> list[T]:
    """The batch in pieces of at most `size` rows, in order; what has no rows is in each of them."""
    if size < 1:
        raise OptionError(f"A piece can't have {size} rows. Split into pieces of 1 row or more.")
    count = rows(batch)
    if count is None:
        raise OptionError(
            f"This batch can't be split: {_doubt(batch)}. Keep in it what has one row for each "
            "item in its first dimension (tensors, or lists of strings or numbers, in a dict or a "
            "tuple), and single values. What is the same for all items belongs elsewhere."
        )

    def piece(first: int) -> T:
        def cut(leaf: Any) -> Any:
            return leaf[first : first + size] if any(_lengths(leaf)) else leaf

        return _changed(batch, cut, whole=_is_column)

    return [piece(first) for first in range(0, count, size)] if count > size else [batch]


# Columns ------------------------------------------------------------------------------------


def _lengths(value: Any) -> Iterator[int | None]:
    """The length of each column, and None for each thing that might be one."""
    if isinstance(value, Tensor) and (value.layout != torch.strided or value.is_nested):
        yield None
    elif _is_array(value):
        yield from value.shape[:1]
    elif _is_column(value):
        yield len(value)
    elif isinstance(value, PackedSequence):
        yield None  # items and moments share its first dimension
    elif (parts := _parts(value)) is not None:
        if parts and _is_nameless(value) and not _holds_arrays(value):
            yield None
        for part in parts.values():
            yield from _lengths(part)
    elif hasattr(value, "__len__") and not isinstance(value, PLAIN):
        yield None


def _is_array(value: object) -> bool:
    """Tensors, and what is like them: numpy's arrays, for one, without importing numpy."""
    return isinstance(getattr(value, "shape", None), tuple)


def _is_column(value: object) -> bool:
    return (
        type(value) in (list, tuple)
        and bool(value)
        and all(isinstance(item, PLAIN) for item in cast(list[object], value))
    )


def _is_nameless(value: object) -> bool:
    return isinstance(value, (tuple, MutableSequence)) and not hasattr(value, "_fields")


def _holds_arrays(value: object) -> bool:
    parts = _parts(value)
    return _is_array(value) if parts is None else any(map(_holds_arrays, parts.values()))


def _doubt(batch: object) -> str:
    lengths = list(dict.fromkeys(_lengths(batch)))
    if None in lengths:
        return "it holds something of which can't be told whether and how it goes by rows"
    said = ", ".join(map(str, lengths[:5])) + (", …" if len(lengths) > 5 else "")
    return f"the numbers of rows in it differ ({said})" if said else "nothing in it has rows"


# Structure ----------------------------------------------------------------------------------


def _changed(
    value: T, change: Callable[[Any], Any], *, whole: Callable[[Any], bool] = lambda value: False
) -> T:
    """The structure with its leaves changed; a part that is `whole` is one leaf."""
    with _bottom_in_reach():
        return cast(T, _change(value, change, whole))


def _change(value: Any, change: Callable[[Any], Any], whole: Callable[[Any], bool]) -> Any:
    parts = None if whole(value) else _parts(value)
    if parts is None:
        return change(value)
    new = {at: _change(part, change, whole) for at, part in parts.items()}
    # What holds no tensors stays the object it is: also classes that could not be built again.
    return _rebuilt(value, new) if any(new[at] is not parts[at] for at in parts) else value


def _parts(value: Any) -> dict[Any, Any] | None:
    """What it is made of, by key, index or field; None for a leaf."""
    if isinstance(value, (*PLAIN, Tensor)):
        return None
    if isinstance(value, Mapping):
        return {key: value[key] for key in value}
    if isinstance(value, (tuple, MutableSequence)):
        return dict(enumerate(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = (field.name for field in dataclasses.fields(value))
        return {name: getattr(value, name) for name in names if hasattr(value, name)}
    return None


def _rebuilt(value: Any, parts: dict[Any, Any]) -> Any:
    """A copy with other parts.

    Copied, and not constructed, wherever it can be changed: subclasses take what arguments they
    like, and a copy keeps whatever else they hold.
    """
    if isinstance(value, tuple):
        # Not the constructor of a named tuple: PackedSequence's would check, and sort, anew.
        make = getattr(type(value), "_make", type(value))
        return make(list(parts.values()))
    if isinstance(value, Mapping) and not isinstance(value, MutableMapping):
        return cast(Any, type(value))(parts)
    new = copy.copy(value)
    for at, part in parts.items():
        if isinstance(value, (Mapping, MutableSequence)):
            new[at] = part
        else:
            object.__setattr__(new, at, part)  # frozen ones, too
    return new


@contextlib.contextmanager
def _bottom_in_reach() -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise OptionError(
            "The batch or state is nested too deep to be followed, or contains itself. Hand over "
            "a flatter one: tensors in a few levels of tuples, lists and dicts."
        ) from None
