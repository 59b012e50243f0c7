"""A few values with names: `enum.Enum`, without enum.

That module takes longer to load than a small file to check, and is of use for its flags and its
many ways to make members. These here are made in the one way that we write them.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what typing would say
if TYPE_CHECKING:
    from collections.abc import Iterator
    from enum import Enum
    from typing import Any
else:

    class _Members(type):
        """Makes a member of each name in capitals; a tuple is what its `__init__` is given."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            values = {key: value for key, value in body.items() if key.isupper()}
            new = super().__new__(cls, name, bases, body)
            new._members = {key: new._made(key, value) for key, value in values.items()}
            for key, member in new._members.items():
                setattr(new, key, member)
            return new

        def _made(cls, name: str, value: Any) -> Enum:
            member = object.__new__(cls)
            member.name, member.value = name, value
            member.__init__(*(value if isinstance(value, tuple) else (value,)))
            return member

        def __call__(cls, value: Any) -> Enum:
            for member in cls:
                if member.value == value or member is value:
                    return member
            raise ValueError(f"{value!r} is not a valid {cls.__name__}")

        def __getitem__(cls, name: str) -> Enum:
            return cls._members[name]

        def __iter__(cls) -> Iterator[Enum]:
            return iter(cls._members.values())

        def __len__(cls) -> int:
            return len(cls._members)

    class Enum(metaclass=_Members):
        """A class's assignments in capitals are its members, each of which there is once."""

        def __init__(self, *value: Any) -> None:
            pass

        def __repr__(self) -> str:
            return f"<{type(self).__name__}.{self.name}: {self.value!r}>"

        def __str__(self) -> str:
            return f"{type(self).__name__}.{self.name}"

        def __reduce__(self) -> tuple[Any, ...]:
            return type(self), (self.value,)  # a copy is the member itself


__all__ = ["Enum"]
