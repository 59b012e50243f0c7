"""Finds the files that are to be checked: what was named, and what lies below it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from gradledger.errors import GradledgerError


class MissingPathError(GradledgerError):
    """A path that was named does not exist."""


def find(paths: Iterable[str], *, exclude: Sequence[str] = (), base: str = ".") -> list[str]:
    """The Python files and notebooks of these files and folders, sorted folder by folder.

    Paths begin as they were named. A file that is named is always in it, whatever it is called;
    what lies in a folder is left out where git ignores it, where it belongs to a virtual
    environment or another tool, or where an `exclude` pattern says so. Those are written as in a
    .gitignore, relative to the folder `base`. Each file is in it once. A link to a folder is not
    followed, unless it is named: it may lead round in a circle. A folder that can't be read stands
    in the list itself, so that whoever reads it learns why.

    Raises MissingPathError for a path that does not exist.
    """
    found: dict[str, str] = {}
    search = None
    for path in paths:
        if os.path.isdir(path):
            if search is None:
                from gradledger.static.source.folder_search import Search

                search = Search(found, exclude, base)
            search.folder(path)
        elif os.path.lexists(path):
            found.setdefault(os.path.realpath(path), path)
        else:
            raise MissingPathError(f"there is no file or folder {path}. Nothing was checked.")
    return [*found.values()]
