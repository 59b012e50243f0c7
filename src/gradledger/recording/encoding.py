"""Events and findings to JSON and back, exactly.

What a field holds is read from its annotation, so that an event type added to the ledger needs
nothing here. Places and sets of cells become the ids of their rows; the rest becomes plain JSON.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable
from functools import cache
from typing import (
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Protocol,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from gradledger.errors import InternalError
from gradledger.ledger.events import Event
from gradledger.ledger.findings import Evidence
from gradledger.ledger.places import Place
from gradledger.ledger.values import Value

SCALARS = (bool, int, float, str, types.NoneType)


class Ids(Protocol):
    """Gives ids to values that are stored in a table of their own."""

    def place(self, place: Place) -> int: ...
    def cells(self, cells: frozenset[str]) -> int: ...


class Rows(Protocol):
    """Finds values in their tables by id."""

    def place(self, id: int) -> Place: ...
    def cells(self, id: int) -> frozenset[str]: ...


class UnknownToThisVersion(LookupError):
    """A kind of event, or a field, that a newer gradledger wrote."""


class Codec(NamedTuple):
    """How values of one type are written and read."""

    encode: Callable[[Any, Ids], Any]
    decode: Callable[[Any, Rows], Any]


def encode_event(event: Event, ids: Ids) -> str:
    """The payload: every field but the place, which has a column."""
    return _dump(_codec(type(event)).encode(event, ids))


def decode_event(kind: str, at: Place, payload: str, rows: Rows) -> Event:
    """The event whose payload this is."""
    cls = event_types().get(kind)
    if cls is None:
        raise UnknownToThisVersion(f"the event {kind}")
    return cls(at=at, **_decode_fields(cls, json.loads(payload), rows))


def encode_evidence(evidence: tuple[Evidence, ...], ids: Ids) -> str:
    """The evidence of a finding as a list of objects."""
    return _dump(_codec(tuple[Evidence, ...]).encode(evidence, ids))


def decode_evidence(stored: str, rows: Rows) -> tuple[Evidence, ...]:
    """The evidence that was encoded."""
    evidence: tuple[Evidence, ...] = _codec(tuple[Evidence, ...]).decode(json.loads(stored), rows)
    return evidence


def event_types() -> dict[str, type[Event]]:
    """Every kind of event that there is, by its name in recordings."""
    found: list[type[Event]] = [Event]
    for kind in found:
        found.extend(kind.__subclasses__())
    # The later of two wins: `slots=True` makes a second class, and the first one may still exist.
    return {kind.__name__: kind for kind in found}


def _dump(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


# One codec for each annotation --------------------------------------------------------------


def _make_codec(annotation: Any) -> Codec:
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in SCALARS or origin is Literal:
        return Codec(_encode_scalar, _decode_scalar)
    if annotation is Place:
        return Codec(lambda value, ids: ids.place(value), lambda stored, rows: rows.place(stored))
    if annotation == frozenset[str]:
        return Codec(lambda value, ids: ids.cells(value), lambda stored, rows: rows.cells(stored))
    if isinstance(annotation, type) and issubclass(annotation, Value):
        return _object(annotation)
    if origin is frozenset or (origin is tuple and args[1:] == (...,)):
        return _several(origin, _codec(args[0]))
    if origin in (Union, types.UnionType):
        return _union(annotation, tuple(a for a in args if a is not types.NoneType))
    raise InternalError(f"recordings have no encoding for {annotation!r}; add one to encoding.py")


_codec: Callable[[Any], Codec] = cache(_make_codec)


def _encode_scalar(value: Any, ids: Ids) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}  # JSON knows neither NaN nor infinity
    return value


def _decode_scalar(stored: Any, rows: Rows) -> Any:
    return float(stored["float"]) if isinstance(stored, dict) else stored


def _several(collection: type, each: Codec) -> Codec:
    def encode(value: Any, ids: Ids) -> list[Any]:
        encoded = [each.encode(one, ids) for one in value]
        return sorted(encoded) if collection is frozenset else encoded

    return Codec(encode, lambda stored, rows: collection(each.decode(one, rows) for one in stored))


def _union(annotation: Any, members: tuple[Any, ...]) -> Codec:
    codecs = [_codec(member) for member in members]
    if all(codec.encode is _encode_scalar for codec in codecs):
        return codecs[0]
    if len(codecs) > 1:  # the stored value would not tell which of them it is
        raise InternalError(f"recordings can't tell the members of {annotation!r} apart")
    one = codecs[0]
    return Codec(
        lambda value, ids: None if value is None else one.encode(value, ids),
        lambda stored, rows: None if stored is None else one.decode(stored, rows),
    )


def _object(cls: type[Any]) -> Codec:
    def encode(value: Any, ids: Ids) -> dict[str, Any]:
        return {name: c.encode(getattr(value, name), ids) for name, c in _fields(cls).items()}

    return Codec(encode, lambda stored, rows: cls(**_decode_fields(cls, stored, rows)))


def _decode_fields(cls: type[Any], stored: dict[str, Any], rows: Rows) -> dict[str, Any]:
    """The fields from the file; one that an older version did not write gets its default."""
    codecs = _fields(cls)
    unknown = stored.keys() - codecs.keys()
    if unknown:
        raise UnknownToThisVersion(f"{cls.__name__}.{min(unknown)}")
    return {name: codecs[name].decode(value, rows) for name, value in stored.items()}


def _make_fields(cls: type[Any]) -> dict[str, Codec]:
    in_columns = {"at"} if issubclass(cls, Event) else set()
    # The ledger does not load typing: it says these names to type checkers alone.
    hints = get_type_hints(cls, localns={"Any": Any, "ClassVar": ClassVar, "Literal": Literal})
    return {name: _codec(hints[name]) for name in cls.fields if name not in in_columns}


_fields: Callable[[Any], dict[str, Codec]] = cache(_make_fields)
