"""Attributes that are exchanged while a program is observed, and put back afterwards."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import Any

Function = Callable[..., Any]


class Patches(ExitStack):
    """Exchanges attributes until it is closed; then each object is as it was found."""

    def set(self, owner: Any, name: str, value: object) -> None:
        """Exchange one attribute. One that was only inherited is removed again, not copied."""
        if name in vars(owner):
            self.callback(setattr, owner, name, vars(owner)[name])
        else:
            self.callback(delattr, owner, name)
        setattr(owner, name, value)

    def around(self, owner: Any, name: str, wrapper: Callable[[Function], Function]) -> None:
        """Exchange a function for one that `wrapper` puts round it."""
        real = getattr(owner, name)
        self.set(owner, name, wraps(real)(wrapper(real)))


def definers(root: type, method: str) -> list[type]:
    """The classes at and below the root that define the method themselves."""
    family: dict[type, None] = {}
    waiting = [root]
    while waiting:
        member = waiting.pop()
        family[member] = None
        waiting += type.__subclasses__(member)
    return [member for member in family if method in vars(member)]
