"""The root folders of the projects of the checked files: imports are not followed beyond them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

_SIGNS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
"""Files and folders at the top of a project."""


def roots(paths: Iterable[str], *, here: str | None = None) -> tuple[str, ...]:
    """The folder of each path's project, once each.

    That is the nearest one with a sign of it. Without any, it is `here`, or the working directory,
    for what lies below it, and else the folder that was named; never the inside of a package.
    """
    here = os.getcwd() if here is None else here
    return tuple(dict.fromkeys(_root(path, here) for path in paths))


def _root(path: str, here: str) -> str:
    path = os.path.abspath(path)
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    for above in _upwards(folder):
        if any(os.path.exists(os.path.join(above, sign)) for sign in _SIGNS):
            return above
    start = here if here in _upwards(folder) else folder
    outside = (above for above in _upwards(start) if not _is_package(above))
    return next(outside, start)


def _is_package(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, "__init__.py"))


def _upwards(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above
