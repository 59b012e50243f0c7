"""Calls back when a module has just been imported, before its importer goes on.

So a script can still set what torch reads when it is loaded, such as OMP_NUM_THREADS.

It replaces the one method that runs a module's code, in the class that all of Python's file loaders
inherit from. So it does not matter which finder finds the module, how often its spec is asked for,
or whether that is kept and loaded later, by a `LazyLoader` say. Where a module comes in by a loader
with code of its own, the next module that is loaded shows it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from types import FrameType, FunctionType, ModuleType
from typing import Any


def when_imported(
    name: str, arrived: Callable[[], None], *, late: Callable[[], None] | None = None
) -> None:
    """Calls `arrived` once: now, if the module is loaded, or as soon as it is.

    Where that is noticed only when others could have used the module, `late` is called instead.
    """
    if is_loaded(name):
        arrived()
    else:
        _expected.append(_Expected(name, arrived, late or arrived))
        _stand()


class _Expected:
    """A module that a callback waits for."""

    def __init__(self, name: str, arrived: Callable[[], None], late: Callable[[], None]) -> None:
        self.name = name
        self.arrived = arrived
        self.late = late


_expected: list[_Expected] = []
"""In the order in which they were asked for. Nothing is patched while it is empty."""


_HOME = next(kind for kind in SourceFileLoader.__mro__ if "exec_module" in vars(kind))
"""The class whose method runs the code of all modules that are files."""


class _ImportHook:
    """Stands in for that method, and gives the method itself for all other modules.

    So nothing is in between while other modules are loaded, in tracebacks either.
    """

    def __init__(self, real: FunctionType) -> None:
        self.real = real
        self.unbound = _hidden_as(real, _followed(real))

    def __get__(self, loader: object, kind: type | None = None) -> Any:
        if loader is None:
            return self.unbound
        if _expected:
            _look_for_late_ones()
            named = object.__getattribute__(loader, "__dict__").get("name")
            if type(named) is not str or any(one.name == named for one in _expected):
                return self.unbound.__get__(loader)
        return self.real.__get__(loader)


def _stand() -> None:
    there = vars(_HOME)["exec_module"]
    if type(there) is not _ImportHook:
        _HOME.exec_module = _ImportHook(there)  # type: ignore[attr-defined]


def _leave() -> None:
    """No callback waits any more. What others have put there meanwhile is theirs."""
    there = vars(_HOME)["exec_module"]
    if type(there) is _ImportHook:
        _HOME.exec_module = there.real  # type: ignore[attr-defined]


def _followed(real: FunctionType) -> Any:
    def exec_module(self: Any, module: ModuleType) -> None:
        real(self, module)
        _has_run(module)

    exec_module.__doc__ = real.__doc__
    return exec_module


def _hidden_as(real: FunctionType, function: FunctionType) -> FunctionType:
    """The function, whose frames Python leaves out of tracebacks as it does with importlib's."""
    function.__code__ = function.__code__.replace(co_filename=real.__code__.co_filename)
    return function


def _has_run(module: ModuleType) -> None:
    name = object.__getattribute__(module, "__dict__").get("__name__")
    for one in [one for one in _expected if one.name == name]:
        if name in sys.modules:
            _tell(one, one.arrived)


def _look_for_late_ones() -> None:
    for one in [one for one in _expected if is_loaded(one.name)]:
        _tell(one, one.late)


def _tell(one: _Expected, hear: Callable[[], None]) -> None:
    try:
        _expected.remove(one)
    except ValueError:  # another thread was quicker
        return
    if not _expected:
        _leave()
    hear()


def is_loaded(name: str) -> bool:
    """Whether its code has run to the end, as far as that can be told without touching it."""
    module = sys.modules.get(name)
    if module is None or _is_lazy(type(module)):
        return False
    names = object.__getattribute__(module, "__dict__")
    if "__builtins__" not in names or getattr(names.get("__spec__"), "_initializing", False):
        return False  # Python puts that there when it begins to run its code
    return not any(_is_running(names, frame) for frame in sys._current_frames().values())


def _is_lazy(kind: type) -> bool:
    """Whether a module of this class may load itself when anything is asked of it."""
    return (
        not issubclass(kind, ModuleType)
        or kind.__getattribute__ is not ModuleType.__getattribute__
        or hasattr(kind, "__getattr__")
    )


def _is_running(names: dict[str, Any], frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals is names and frame.f_code.co_name == "<module>":
            return True
        frame = frame.f_back
    return False
