"""Tuples with names: `typing.NamedTuple`, without typing.

That module takes longer to load than the whole ledger, and is of use to type checkers alone. So
wherever `gradledger check` comes by, its names are imported for them only.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what typing would say
if TYPE_CHECKING:
    from typing import Any, NamedTuple
else:
    from collections import namedtuple

    class _Named(type):
        """Makes a tuple of a class's annotations, and gives it what else is in the class."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:  # it is NamedTuple itself
                return super().__new__(cls, name, bases, body)
            fields = body.pop("__annotations__")
            defaults = [body.pop(field) for field in fields if field in body]
            made = namedtuple(name, fields, defaults=defaults, module=body.pop("__module__"))
            for key, value in body.items():
                setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Named):
        """A class's annotations are its fields; what is assigned is a default."""


__all__ = ["NamedTuple"]
