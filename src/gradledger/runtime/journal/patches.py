"""Attributes that are replaced while a program is audited, and restored afterwards."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import wraps
from types import FunctionType, ModuleType
from typing import Any

Function = Callable[..., Any]


class Patches(ExitStack):
    """Exchanges attributes until it is closed; then each object is as it was found."""

    def set(self, owner: Any, name: str, value: object) -> None:
        """Exchange one attribute. One that was only inherited is removed again, not copied."""
        self.callback(_Exchange(owner, name, value).undo)

    def around(self, owner: Any, name: str, wrapper: Callable[[Function], Function]) -> Function:
        """Exchange a function for one that `wrapper` puts round it; gives that one."""
        real = getattr(owner, name)
        wrapped = wraps(real)(_passed_over(wrapper(real)))
        self.set(owner, name, wrapped)
        return wrapped

    def everywhere(
        self, owner: ModuleType, wrappers: Mapping[str, Callable[[Function], Function]]
    ) -> None:
        """The same for functions of a module, also where others have imported them by name.

        By a private name, the module that they come from calls them from its own functions.
        """
        # It loads torch, which is the program's to load: whoever is patched here is torch.
        from gradledger.runtime.program.objects import attributes

        wrapped = {}
        for name, wrapper in wrappers.items():
            real = getattr(owner, name)
            wrapped[real] = self.around(owner, name, wrapper)
        for module in list(sys.modules.values()):
            if module is owner:
                continue
            names = attributes(module)
            for alias, value in list(names.items()):
                if type(value) is FunctionType and value in wrapped:
                    at_home = value.__module__ == names.get("__name__")
                    if not (at_home and alias.startswith("_")):
                        self.set(module, alias, wrapped[value])


_INHERITED = object()
_standing: dict[tuple[int, str], list[_Exchange]] = {}
"""Exchanges of each attribute that are not undone yet, of all audits, in their order."""
_exchanging = threading.RLock()


class _Exchange:
    """One attribute is another until this is undone, in whatever order audits end."""

    def __init__(self, owner: Any, name: str, value: object) -> None:
        self.owner, self.name, self.value = owner, name, value
        with _exchanging:
            self.before = vars(owner).get(name, _INHERITED)
            setattr(owner, name, value)
            _standing.setdefault((id(owner), name), []).append(self)

    def undo(self) -> None:
        with _exchanging:
            others = _standing[id(self.owner), self.name]
            others.remove(self)
            above = [other for other in others if other.before is self.value]
            for other in above:  # an audit that began later puts back what we found
                other.before = self.before
            # What others have put there meanwhile is theirs.
            if not above and vars(self.owner).get(self.name) is self.value:
                self._put_back()
            if not others:
                del _standing[id(self.owner), self.name]

    def _put_back(self) -> None:
        if self.before is _INHERITED:
            delattr(self.owner, self.name)
        else:
            setattr(self.owner, self.name, self.before)


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
