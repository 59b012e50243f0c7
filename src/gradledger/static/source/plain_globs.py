"""Patterns of a .gitignore that need no regular expression: names, endings and whole paths.

Nearly all are: `build/`, `*.log`, `docs/_build`. To compile one expression of them takes longer
than to search the folder.
"""

from __future__ import annotations

from gradledger.static.source.glob_matching import FOLDER

_SPECIAL = ("*", "?", "[", "\\", FOLDER)


class PlainGlob:
    """Matches the last name of a path, the ending of that name, or the whole path."""

    __slots__ = ("ending", "name", "only_folders", "path")

    def __init__(self, glob: str, *, anchored: bool, only_folders: bool) -> None:
        is_ending = glob.startswith("*")
        self.path = glob if anchored else None
        self.ending = glob[1:] if is_ending and not anchored else None
        self.name = None if is_ending or anchored else glob
        self.only_folders = only_folders

    def matches(self, path: str) -> bool:
        """The whole path, as a regular expression of the pattern would."""
        bare = path.removesuffix(FOLDER)
        if self.only_folders and bare is path:
            return False
        if self.path is not None:
            return bare == self.path
        name = bare.rpartition("/")[2]
        return name == self.name if self.ending is None else name.endswith(self.ending)


def plain_glob(glob: str, *, anchored: bool, only_folders: bool) -> PlainGlob | None:
    """The pattern, if it is plain; None if there is more to it."""
    fixed = glob if anchored else glob.removeprefix("*")
    if not fixed or any(sign in fixed for sign in _SPECIAL):
        return None
    return PlainGlob(glob, anchored=anchored, only_folders=only_folders)


class PlainGlobs:
    """Many of them at once: whether any matches."""

    __slots__ = ("_endings", "_names", "_paths")

    def __init__(self, globs: list[PlainGlob]) -> None:
        self._paths = frozenset(glob.path for glob in globs)
        self._names = frozenset(glob.name for glob in globs)
        self._endings = tuple(glob.ending for glob in globs if glob.ending is not None)

    def may_match(self, path: str) -> bool:
        """False if none does."""
        bare = path.removesuffix(FOLDER)
        name = bare.rpartition("/")[2]
        return name in self._names or bare in self._paths or name.endswith(self._endings)
