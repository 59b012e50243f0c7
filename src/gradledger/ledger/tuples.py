"""Tuples with names: `typing.NamedTuple`, without typing.

That module takes longer to load than the whole ledger, and is of use to type checkers alone. So
wherever `gradledger check` comes by, its names are imported for them only. Nor is
`collections.namedtuple` of use: it compiles code for every class, which takes longer than the rest.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what typing would say
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NamedTuple
else:
    from operator import itemgetter

    class _Named(type):
        """Makes the annotations of a class its fields, and what is assigned to them defaults."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            fields = tuple(body.get("__annotations__", ()))
            body["_field_defaults"] = {field: body[field] for field in fields if field in body}
            body["_fields"] = body["__match_args__"] = fields
            body["_field_set"] = frozenset(fields)
            body["_tails"] = _tails(fields, body["_field_defaults"])
            body["__slots__"] = ()
            for place, field in enumerate(fields):
                body[field] = property(itemgetter(place))
            return super().__new__(cls, name, bases, body)

    def _tails(fields: tuple[str, ...], defaults: dict[str, Any]) -> dict[int, tuple[Any, ...]]:
        """By the number of values that are given, the defaults of all the others."""
        tails: dict[int, tuple[Any, ...]] = {}
        tail: tuple[Any, ...] = ()
        for place in reversed(range(len(fields))):
            if fields[place] not in defaults:
                break
            tail = (defaults[fields[place]], *tail)
            tails[place] = tail
        return tails

    class NamedTuple(tuple, metaclass=_Named):
        """A class's annotations are its fields; what is assigned is a default."""

        def __new__(cls, *values: Any, **named: Any) -> NamedTuple:
            if named or len(values) != len(cls._fields):
                tail = None if named else cls._tails.get(len(values))
                values = cls._completed(values, named) if tail is None else values + tail
            return tuple.__new__(cls, values)

        @classmethod
        def _completed(cls, values: tuple[Any, ...], named: dict[str, Any]) -> Iterable[Any]:
            given = dict(zip(cls._fields, values, strict=False))
            whole = cls._field_defaults | given | named
            fits = len(values) <= len(given) and given.keys().isdisjoint(named)
            if not fits or whole.keys() != cls._field_set:
                twice = given.keys() & named.keys()
                wrong = sorted(twice | (whole.keys() ^ set(cls._fields)))
                told = f"missing, unknown or twice: {', '.join(wrong)}" if wrong else "too many"
                raise TypeError(f"{cls.__name__} takes {', '.join(cls._fields)}; {told}")
            return map(whole.__getitem__, cls._fields)

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

        def __repr__(self) -> str:
            shown = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
            return f"{type(self).__name__}({shown})"

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **changes: Any) -> NamedTuple:
            return type(self)(**self._asdict() | changes)


__all__ = ["NamedTuple"]
