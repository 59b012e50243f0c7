"""Calls back when a module has just been imported, before its importer goes on.

So a script can still set what torch reads when it is loaded, such as OMP_NUM_THREADS.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def when_imported(name: str, arrived: Callable[[], None]) -> None:
    """Calls `arrived` once: now, if the module is loaded, or as soon as it is."""
    if name in sys.modules:
        arrived()
    else:
        sys.meta_path.insert(0, _Lookout(name, arrived))


class _Lookout(MetaPathFinder):
    """Finds nothing itself, but sees one module come in."""

    def __init__(self, name: str, arrived: Callable[[], None]) -> None:
        self._name = name
        self._arrived = arrived

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = self._found_by_others(path, target)
        if spec is None or spec.loader is None:
            sys.meta_path.insert(0, self)
        else:
            self._follow(spec)
        return spec

    def _found_by_others(
        self, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if find and (spec := find(self._name, path, target)):
                found: ModuleSpec = spec
                return found
        return None

    def _follow(self, spec: ModuleSpec) -> None:
        """Only this one loading is followed: the loader is itself again before it begins."""
        loader = spec.loader
        assert loader is not None

        before = vars(loader).get("exec_module")  # somebody else's wrapper, perhaps

        def exec_module(module: ModuleType) -> None:
            if before is None:
                del loader.exec_module
            else:
                loader.exec_module = before  # type: ignore[method-assign]
            try:
                loader.exec_module(module)
            except BaseException:
                sys.meta_path.insert(0, self)  # the script may catch that, and try again
                raise
            self._arrived()

        loader.exec_module = exec_module  # type: ignore[method-assign]
