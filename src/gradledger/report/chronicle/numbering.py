"""Numbers instead of values that repeat."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Numbered(Generic[T]):
    """Gives each different value a number, from 0 on."""

    def __init__(self) -> None:
        self._numbers: dict[T, int] = {}

    def __call__(self, thing: T) -> int:
        return self._numbers.setdefault(thing, len(self._numbers))

    @property
    def all(self) -> tuple[T, ...]:
        """The values, in the order of their numbers."""
        return tuple(self._numbers)
