"""Attributes that are exchanged while a program is audited, and put back afterwards."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from types import ModuleType
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

    def around(self, owner: Any, name: str, wrapper: Callable[[Function], Function]) -> Function:
        """Exchange a function for one that `wrapper` puts round it; gives that one."""
        real = getattr(owner, name)
        wrapped = wraps(real)(_passed_over(wrapper(real)))
        self.set(owner, name, wrapped)
        return wrapped

    def everywhere(
        self, owner: ModuleType, name: str, wrapper: Callable[[Function], Function]
    ) -> None:
        """The same for a function of a module, also where others have imported it by name."""
        real = getattr(owner, name)
        wrapped = self.around(owner, name, wrapper)
        for module in list(sys.modules.values()):
            if module is owner:
                continue
            for alias, value in list(getattr(module, "__dict__", {}).items()):
                if value is real:
                    self.set(module, alias, wrapped)


def _passed_over(function: Function) -> Function:
    """A function that Python does not count when torch warns its caller's caller."""
    # What a warning skips is frames whose file has these two words in its name.
    hidden = f"{function.__code__.co_filename} (importlib, _bootstrap)"
    function.__code__ = function.__code__.replace(co_filename=hidden)
    return function


def definers(root: type, method: str) -> list[type]:
    """The classes at and below the root that define the method themselves."""
    family: dict[type, None] = {}
    waiting = [root]
    while waiting:
        member = waiting.pop()
        family[member] = None
        waiting += type.__subclasses__(member)
    return [member for member in family if method in vars(member)]
