"""Frozen values: what everything in the ledger is made of.

Like frozen dataclasses to write and to read. Made here because the ledger makes, compares and
hashes little else: defining a class costs no generated code (the command line starts in
milliseconds), a changed copy is one copy of a dictionary, and each value computes its hash once,
so that looking up a page costs what has changed and not the whole tree.
"""

from __future__ import annotations

from operator import itemgetter

TYPE_CHECKING = False  # what typing would say, which takes longer to load than the ledger
if TYPE_CHECKING:
    from typing import Any, ClassVar, TypeVar

    from typing_extensions import dataclass_transform

    V = TypeVar("V", bound="Value")
else:

    def dataclass_transform(**_: object) -> Any:
        """For type checkers only."""
        return lambda cls: cls


_set = object.__setattr__
"""Made and copied values are a tenth of what a check does: no name is looked up twice for them."""


@dataclass_transform(frozen_default=True)
class Value:
    """A class's annotations are its fields, after its parent's; what is assigned is a default."""

    __slots__ = ("__dict__", "_hash")

    if TYPE_CHECKING:
        _hash: ClassVar[int]

    fields: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[dict[str, Any]] = {}
    _contents: ClassVar[Any] = staticmethod(lambda state: ())

    def __init_subclass__(cls) -> None:
        own = [name for name, kind in cls.__annotations__.items() if "ClassVar" not in str(kind)]
        given = {name: cls.__dict__[name] for name in own if name in cls.__dict__}
        cls.fields = (*cls.fields, *own)
        cls._defaults = cls._defaults | given
        if cls.fields:
            cls._contents = itemgetter(*cls.fields)
        setattr(cls, "__match_args__", cls.fields)  # noqa: B010 - mypy keeps that name to itself

    def __init__(self, *args: Any, **named: Any) -> None:
        fields = self.fields
        if not named and len(args) == len(fields):
            # Of the same length, as was just seen; to have it looked at again takes longer.
            _set(self, "__dict__", dict(zip(fields, args)))  # noqa: B905
            return
        given = dict(zip(fields, args, strict=False)) if args else {}
        state = self._defaults | given | named
        if len(args) > len(fields) or (named and not named.keys().isdisjoint(fields[: len(args)])):
            raise TypeError(f"{type(self).__name__} takes {', '.join(fields)}, each once")
        if len(state) != len(fields):
            wrong = sorted(set(fields) ^ state.keys())
            raise TypeError(f"{type(self).__name__}: missing or unknown: {', '.join(wrong)}")
        _set(self, "__dict__", state)

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            known = hash(self._contents(self.__dict__))
            _set(self, "_hash", known)
            return known

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __setattr__(self, name: str, value: object = None) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; use replace() for a changed copy")

    __delattr__ = __setattr__

    def __repr__(self) -> str:
        listed = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self.fields)
        return f"{type(self).__name__}({listed})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the hash: that of a text is another in every process.
        return _made, (type(self), self.__dict__)


def replace(value: V, /, **changes: Any) -> V:
    """A copy of the value with these fields changed."""
    state = value.__dict__ | changes
    if len(state) != len(value.fields):
        raise TypeError(
            f"{type(value).__name__} has no field {', '.join(state.keys() - value.fields)}"
        )
    new = object.__new__(type(value))
    _set(new, "__dict__", state)
    return new


def _made(cls: type[V], state: dict[str, Any]) -> V:
    new = object.__new__(cls)
    _set(new, "__dict__", state)
    return new
