"""Which files call what trains in other files, though they say nothing of gradients themselves.

`main.py` has the loop, `trainer.py` the step that it calls: nothing in the bytes of the first tells
that there is anything to follow in it, but for what it imports.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from gradledger.static import budget
from gradledger.static.project.packages import OUTSIDE, starts
from gradledger.static.source.files import Trouble, read_bytes
from gradledger.static.source.imports import Imported, first_imported, imported
from gradledger.static.source.mentions import defining

_USES = (b"%s(", b"%s.", b"(%s)", b"(%s,", b", %s)")
"""To call it, to make one, or to have it as a base: who only says what is given to him is given it
by others."""

Training = Mapping[str, tuple[str, ...]]
"""By file, the names in it that train."""

Importing = Callable[["Steps"], Iterable[tuple[str, list[str]]]]
"""Gives all files that import some of these, and by which names."""


class Folders:
    """What is asked of the folders of a project again and again."""

    def __init__(self, roots: tuple[str, ...]) -> None:
        self._roots = tuple(map(os.path.abspath, roots))
        self._packages: dict[str, tuple[str, ...]] = {}
        self._begin: dict[str, tuple[str, ...]] = {}

    def starts(self, folder: str, level: int) -> Iterable[str]:
        """The folders in which an import in this one may begin, the nearest first."""
        if level:
            return starts(folder, level, self._roots)
        known = self._begin.get(folder)
        if known is None:
            known = self._begin[folder] = tuple(starts(folder, 0, self._roots))
        return known

    def packages_of(self, folder: str) -> tuple[str, ...]:
        """The packages that a file in that folder is in, the nearest first."""
        known = self._packages.get(folder)
        if known is None:
            known = ()
            if os.path.exists(os.path.join(folder, "__init__.py")):
                known = (folder, *self.packages_of(os.path.dirname(folder)))
            self._packages[folder] = known
        return known


class Steps:
    """Where the names stand that train, and how they are imported."""

    def __init__(self, training: Training, folders: Folders) -> None:
        self._folders = folders
        self._below: dict[str, set[str]] = {}
        """By module, and by package: a package may hand on what is in its modules."""
        self._modules: set[str] = set()
        self._ends: dict[str, set[str]] = {}
        """The same, and the names of modules."""
        self._parts: dict[str, set[str]] = {}
        """By folder, the first names by which something below it is imported."""
        self._firsts: dict[str, frozenset[str]] = {}
        self._words: dict[str, tuple[str, ...]] = {}
        self._named: dict[str, dict[str, frozenset[str]]] = {}
        """By folder and line, the names that it imports."""
        for path, names in training.items():
            self._add(path, names)

    def __bool__(self) -> bool:
        return bool(self._modules)

    def _add(self, path: str, names: tuple[str, ...]) -> None:
        stem, _ = os.path.splitext(os.path.abspath(path))
        stem = stem.removesuffix(f"{os.sep}__init__")
        self._modules.add(stem)
        ends = (*names, os.path.basename(stem))
        while True:
            self._below.setdefault(stem, set()).update(names)
            self._ends.setdefault(stem, set()).update(ends)
            above, part = os.path.split(stem)
            if above == stem:
                return
            self._parts.setdefault(above, set()).add(part)
            stem = above

    def may_be_named_by(
        self, folder: str, files: Iterable[int], imports: Mapping[int, str]
    ) -> list[int]:
        """Of some files in one folder, those whose imports have a word of them: few."""
        words = self._words_for(folder)
        return [index for index in files if any(map(imports[index].__contains__, words))]

    def named_by(self, folder: str, lines: str) -> list[str]:
        """The names by which a file there knows them: those that it imports, by these lines."""
        known = self._named.setdefault(folder, {})
        found: set[str] = set()
        for line in lines.split("\n"):
            names = known.get(line)
            if names is None:  # the files of a folder have most of their imports in common
                names = known[line] = self._named_in(folder, line)
            found |= names
        return sorted(found)

    def _named_in(self, folder: str, line: str) -> frozenset[str]:
        if not any(map(line.__contains__, self._words_for(folder))):
            return frozenset()
        if " ." not in line and self._first_names(folder).isdisjoint(first_imported(line)):
            return frozenset()
        return frozenset().union(*(self._meant(folder, each) for each in _imported(line)))

    def _words_for(self, folder: str) -> tuple[str, ...]:
        """One of these stands in the imports of each file of the folder that has any of them.

        Either the first name of an absolute import, or a name that one with dots ends with.
        """
        known = self._words.get(folder)
        if known is None:
            words = set(self._first_names(folder))
            # A folder need not be a package for its files to import each other with dots.
            top = (folder, *self._folders.packages_of(folder))[-1]
            ends = self._ends.get(top, set())
            words |= ends if len(ends) < budget.MOST_WORDS_IN_A_LOOK else {"from ."}
            known = self._words[folder] = tuple(words)
        return known

    def _meant(self, folder: str, each: Imported) -> Iterator[str]:
        module = os.sep.join(part for part in each.module.split(".") if part)
        for start in self._folders.starts(folder, each.level):
            stem = os.path.join(start, module) if module else start
            below = self._below.get(stem)
            if below is None:
                continue
            if not each.names and stem in self._modules:
                yield each.alias.rpartition(".")[2]
            for name, alias in each.names:
                if name == "*":
                    yield from below
                elif name in below or os.path.join(stem, name) in self._modules:
                    yield alias
            return

    def _first_names(self, folder: str) -> frozenset[str]:
        """The names that absolute imports of them begin with, in a file of that folder.

        Those in a package that it is in are imported by its name, or with dots.
        """
        known = self._firsts.get(folder)
        if known is None:
            packages = self._folders.packages_of(os.path.dirname(folder))
            starts = (start for start in self._folders.starts(folder, 0) if start not in packages)
            parts = frozenset().union(*(self._parts.get(start, ()) for start in starts))
            known = self._firsts[folder] = parts - OUTSIDE
        return known


@cache
def _imported(line: str) -> tuple[Imported, ...]:
    return tuple(imported(line))


def folder_of(path: str) -> str:
    """Where a file stands, from the root on."""
    head, found, _ = path.rpartition(os.sep)
    return _absolute(head or found or os.curdir)


@cache
def _absolute(folder: str) -> str:
    return os.path.abspath(folder)


class Callers:
    """The files that call what trains in others, and those through which others come to it."""

    def __init__(self, training: Training, roots: tuple[str, ...], importing: Importing) -> None:
        self._names = {path: set(names) for path, names in training.items()}
        self.paths: set[str] = set()
        self.carrying: set[str] = set()
        """By their full paths, those that hand on what trains, under names of their own."""
        new, folders = dict(training), Folders(roots)
        for _ in range(budget.MOST_FILES_BETWEEN):
            if new:
                new = dict(self._handed_on(importing(Steps(new, folders))))

    def _handed_on(
        self, found: Iterable[tuple[str, list[str]]]
    ) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Takes files that import names; gives the names under which they hand these on."""
        for path, names in found:
            data = read_bytes(path)
            if isinstance(data, Trouble):
                continue
            used = [form % name.encode() for name in names for form in _USES]
            if any(word in data for word in used):
                self.paths.add(path)
            known = self._names.setdefault(path, set())
            own = set(defining(data, used)) - known
            if own:
                self.carrying.add(os.path.abspath(path))
                known |= own
                yield path, tuple(sorted(own))
