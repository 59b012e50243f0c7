"""Finds the files that are to be checked: what was named, and what lies below it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from gradledger.errors import GradledgerError
from gradledger.static.gitignore import FOLDER, Ignores, read_ignores
from gradledger.static.repositories import ignores_above, is_ignored

ENDINGS = (".py", ".ipynb")

_NOT_OURS = frozenset(
    {".git", ".hg", ".svn", ".bzr", ".tox", ".nox", ".eggs", ".direnv", ".mypy_cache",
     ".pytest_cache", ".ruff_cache", ".gradledger_cache", ".ipynb_checkpoints", "__pycache__",
     "__pypackages__", "node_modules", "site-packages"}
)  # fmt: skip
"""Folders whose files are copies, other people's, or no source."""

_ENVIRONMENT = frozenset({"pyvenv.cfg", "conda-meta"})
"""What only the top folder of an environment holds, whatever that is called."""


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
    search = _Search(exclude, base)
    for path in paths:
        if os.path.isdir(path):
            search.folder(path)
        elif os.path.lexists(path):
            search.file(path, os.path.realpath(path))
        else:
            raise MissingPathError(f"there is no file or folder {path}. Nothing was checked.")
    return search.found


class _Search:
    """What was found so far. Remembers the real path of each file, so that it comes once."""

    def __init__(self, exclude: Sequence[str], base: str) -> None:
        self.found: list[str] = []
        self._known: set[str] = set()
        self._exclude = Ignores(exclude)
        self._base = os.path.realpath(base)

    def file(self, path: str, real: str) -> None:
        if real not in self._known:
            self._known.add(real)
            self.found.append(path)

    def folder(self, path: str) -> None:
        """All that is below it. What is named is looked at, even where it would be ignored."""
        real = os.path.realpath(path)
        scopes = ignores_above(real)
        if self._exclude:
            inside = os.path.relpath(real, self._base).replace(os.sep, "/") + "/"
            # Outside of `base` the patterns count from the folder that was named.
            scopes.append((self._exclude, "" if inside.startswith(("./", "../")) else inside))
        shown = "" if path == "." else os.path.join(path, "")
        left = [(shown, os.path.join(real, ""), scopes, True)]
        while left:
            left += reversed(self._entries(*left.pop()))

    def _entries(
        self, shown: str, real: str, scopes: list[tuple[Ignores, str]], named: bool
    ) -> list[tuple[str, str, list[tuple[Ignores, str]], bool]]:
        """Takes the files of one folder, and returns the folders in it that are to be searched."""
        try:
            with os.scandir(real) as entries:
                listing = {entry.name: entry for entry in entries}
        except OSError:
            self.file(shown.rstrip(os.sep) or ".", real)
            return []
        if not named and not _ENVIRONMENT.isdisjoint(listing):
            return []
        if ".gitignore" in listing and (own := read_ignores(f"{real}.gitignore")):
            scopes = [*scopes, (own, "")]
        folders = []
        for name in sorted(listing):
            entry = listing[name]
            if name.endswith(ENDINGS) and (target := _target(entry, real)):
                if not is_ignored(scopes, name):
                    self.file(shown + name, target)
            elif (
                name not in _NOT_OURS
                and _is_folder(entry)
                and not is_ignored(scopes, name + FOLDER)
            ):
                below = [(ignores, f"{prefix}{name}/") for ignores, prefix in scopes]
                folders.append((f"{shown}{name}{os.sep}", f"{real}{name}{os.sep}", below, False))
        return folders


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _target(entry: os.DirEntry[str], folder: str) -> str | None:
    """The real path of a file; None for a folder, a pipe, a device or a link to nowhere."""
    try:
        if not entry.is_file():
            return None
    except OSError:  # a link to itself
        return None
    return os.path.realpath(entry.path) if entry.is_symlink() else folder + entry.name
