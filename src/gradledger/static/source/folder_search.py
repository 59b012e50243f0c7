"""Searches folders for files to check, and leaves out what is not the project's own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from gradledger.static.source.git_excludes import Scopes, ignores_above, is_ignored
from gradledger.static.source.gitignore import FOLDER, Ignores, read_ignores

ENDINGS = (".py", ".ipynb")

_NOT_OURS = frozenset(
    {".git", ".hg", ".svn", ".bzr", ".tox", ".nox", ".eggs", ".direnv", ".mypy_cache",
     ".pytest_cache", ".ruff_cache", ".gradledger_cache", ".ipynb_checkpoints", "__pycache__",
     "__pypackages__", "node_modules", "site-packages"}
)  # fmt: skip
"""Folders whose files are copies, other people's, or no source."""

_ENVIRONMENT = frozenset({"pyvenv.cfg", "conda-meta"})
"""What only the top folder of an environment holds, whatever that is called."""


class _Folder(NamedTuple):
    """A folder to be searched, and what is left out of it."""

    shown: str
    real: str
    excluded: Scopes
    ignored: Scopes
    named: bool = False

    def below(self, name: str, ignored: Scopes) -> _Folder:
        return _Folder(
            f"{self.shown}{name}{os.sep}",
            f"{self.real}{name}{os.sep}",
            [(patterns, f"{prefix}{name}/") for patterns, prefix in self.excluded],
            [(patterns, f"{prefix}{name}/") for patterns, prefix in ignored],
        )


class Search:
    """Adds to what was found: each file's shown path, by its real one, so that it comes once."""

    def __init__(self, found: dict[str, str], exclude: Sequence[str], base: str) -> None:
        self._found = found
        self._exclude = Ignores(exclude)
        self._base = os.path.realpath(base)

    def folder(self, path: str) -> None:
        """All that is below it. What is named is looked at, even where it would be ignored."""
        real = os.path.realpath(path)
        shown = "" if path == "." else os.path.join(path, "")
        left = [
            _Folder(shown, os.path.join(real, ""), self._excluded(real), ignores_above(real), True)
        ]
        while left:
            left += reversed(self._searched(left.pop()))

    def _excluded(self, real: str) -> Scopes:
        if not self._exclude:
            return []
        inside = os.path.relpath(real, self._base).replace(os.sep, "/") + "/"
        # Outside of `base` the patterns count from the folder that was named.
        return [(self._exclude, "" if inside.startswith(("./", "../")) else inside)]

    def _searched(self, folder: _Folder) -> list[_Folder]:
        """Takes the files of one folder, and returns the folders in it that are to be searched."""
        try:
            with os.scandir(folder.real) as entries:
                listing = {entry.name: entry for entry in entries}
        except OSError:
            self._found.setdefault(folder.real, folder.shown.rstrip(os.sep) or ".")
            return []
        if not folder.named and not _ENVIRONMENT.isdisjoint(listing):
            return []
        excluded, ignored = folder.excluded, folder.ignored
        if ".gitignore" in listing and (own := read_ignores(f"{folder.real}.gitignore")):
            ignored = [*ignored, (own, "")]

        def wanted(name: str) -> bool:
            return not (is_ignored(excluded, name) or is_ignored(ignored, name))

        folders = []
        for name in sorted(listing):
            if name.endswith(ENDINGS) and (target := _target(listing[name], folder.real)):
                if wanted(name):
                    self._found.setdefault(target, folder.shown + name)
            elif name not in _NOT_OURS and _is_folder(listing[name]) and wanted(name + FOLDER):
                folders.append(folder.below(name, ignored))
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
