"""The files that belong together: what one imports from another."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from gradledger.ledger.outcomes import Outcomes
from gradledger.static import budget
from gradledger.static.project.module import Import, Module
from gradledger.static.project.packages import starts
from gradledger.static.source import files
from gradledger.static.source.files import Source, Trouble

MATTERS = (
    b"backward(",
    b"zero_grad",
    b".step(",
    b"ptim",
    b"requires_grad",
    b".grad",
    b"._grad",
    b"cross_entropy",
    b"Loss(",
    b"detach",
    b"Meter",
)
"""Words without which a file is of no use to somebody who imports it."""

NEVER_ENDS = (b"def __iter__", b"while True")
"""Or all of these: it may have a loader whose data has no end."""


SETTINGS = (
    "config",
    "configs",
    "cfg",
    "settings",
    "options",
    "constants",
    "params",
    "train",
    "main",
)
"""Files in which people set what the files beside them use."""


class Project:
    """Finds other files of the project, and parses each at most once."""

    def __init__(
        self,
        roots: tuple[str, ...] = (),
        *,
        carrying: frozenset[str] = frozenset(),
        at_hand: Mapping[str, bytes] | None = None,
    ) -> None:
        self._at_hand = at_hand or {}
        """By their absolute paths, files that are not to be read: an editor has newer text."""
        self.outcomes: Outcomes | None = None
        """What events do to pages: files that train by one base class have most of it in common."""
        self._carrying = carrying
        """Files through which others come to what trains, whatever they say themselves."""
        self._roots = tuple(map(os.path.abspath, roots))
        self._modules: dict[str, Module | None] = {}
        self._beside: dict[str, Module | None] = {}
        """Files that were read for what they set."""
        self._asked: set[str] = set()
        self._left = budget.MOST_READ
        self._imported: dict[tuple[str, str, int], Module | None] = {}
        """For the file that is checked: by folder, what an import means there."""

    def module(self, source: Source) -> Module | Trouble:
        """The file as a module of the project."""
        key = os.path.abspath(source.path)
        known = self._modules.get(key)
        if known is not None:
            return known
        tree = files.parse(source)
        if isinstance(tree, Trouble):
            return tree
        known = self._modules[key] = Module(source, tree)
        return known

    def text(self, path: str) -> str:
        """Of a file that was read; empty for any other."""
        known = self._modules.get(os.path.abspath(path))
        return "" if known is None else known.source

    def begin(self) -> None:
        """Another file is checked: it may read so many others, and no more."""
        self._left = budget.MOST_READ
        # Not kept for longer: each file has its own number of others that it may read, and its
        # own list of those that it asked for.
        self._imported.clear()

    def imported(self, by: Module, module: str, level: int = 0) -> Module | None:
        """The file of the project that `import module` means in another one; None for no such."""
        key = by.folder, module, level
        if key not in self._imported:
            paths = _candidates(by.folder, module, level, self._roots)
            self._imported[key] = next(filter(None, map(self._at, paths)), None)
        found = self._imported[key]
        if found is not by or level:
            return found
        # `utils/model.py` says `from model import …`: no file imports itself.
        paths = _candidates(by.folder, module, level, self._roots)
        others = (path for path in paths if path != os.path.abspath(by.path))
        return next(filter(None, map(self._at, others)), None)

    def does_nothing(self, by: Module, module: str, level: int = 0) -> bool:
        """True if the file that an import means is there, has no gradients and imports nothing."""
        for path in _candidates(by.folder, module, level, self._roots):
            data = self._read(path)
            if data is not None:
                return b"import" not in data and _of_use(path, data, always=False) is None
        return False

    def submodule(self, of: Module, name: str) -> Module | None:
        """The module `name` of a package."""
        if os.path.basename(of.path) != "__init__.py":
            return None
        for path in _files_of(os.path.join(of.folder, name)):
            found = self._at(path)
            if found is not None:
                return found
        return None

    def settings_beside(self, module: Module, name: str) -> Iterator[Module]:
        """The files next to it that say what people set, if they speak of this name."""
        folder = os.path.dirname(os.path.abspath(module.path))
        for place in (folder, os.path.dirname(folder)):
            for stem in SETTINGS:
                beside = self._setting(os.path.join(place, f"{stem}.py"), name)
                if beside is not None:
                    yield beside

    def settings_in(self, module: Module, origin: Import, name: str) -> Iterator[Module]:
        """The file of the project that a name comes from, whatever else it says."""
        paths = _candidates(module.folder, origin.module, origin.level, self._roots)
        yield from filter(None, (self._setting(path, name) for path in paths))

    def _setting(self, path: str, name: str) -> Module | None:
        self._asked.add(path)
        data = self._read(path)
        # Not `_at`: what says nothing of gradients may still say this.
        if data is None or name.encode() not in data:
            return None
        if self._beside.get(path) is None:
            self._beside[path] = self._modules.get(path) or self._parsed(path, data)
        return self._beside[path]

    def knows_no_gradients(self, by: Module, dotted: str) -> bool:
        """Is it a function of the project, in a file that has not a word about gradients?

        Such files are not followed, and not because nobody knows what is in them.
        """
        module, _, name = dotted.rpartition(".")
        for path in _candidates(by.folder, module, 0, self._roots) if module else ():
            data = self._read(path)
            self._asked.add(path)
            if data is not None:
                said = any(word in data for word in MATTERS)
                return not said and f"def {name}(".encode() in data
        return False

    def dependencies(self) -> tuple[str, ...]:
        """Files that were asked for since this was last called, whether they were there or not."""
        asked = tuple(sorted(self._asked))
        self._asked.clear()
        return asked

    def _at(self, path: str) -> Module | None:
        self._asked.add(path)
        if path not in self._modules:
            data = _of_use(path, self._read(path), always=path in self._carrying)
            if data is None:
                self._modules[path] = None
            elif not self._left:
                return None
            else:
                self._left -= 1
                self._modules[path] = self._parsed(path, data)
        return self._modules[path]

    def _read(self, path: str) -> bytes | None:
        data = self._at_hand[path] if path in self._at_hand else files.read_bytes(path)
        return None if isinstance(data, Trouble) else data

    def _parsed(self, path: str, data: bytes) -> Module | None:
        source = files.from_bytes(path, data)
        if isinstance(source, Trouble):
            return None
        tree = files.parse(source)
        return None if isinstance(tree, Trouble) else Module(source, tree)


def _of_use(path: str, data: bytes | None, *, always: bool) -> bytes | None:
    """The bytes of a file that can matter to somebody who imports it; None for any other."""
    always = always or os.path.basename(path) == "__init__.py"
    matters = data is not None and (always or any(map(data.__contains__, MATTERS)))
    return data if matters or (data and all(map(data.__contains__, NEVER_ENDS))) else None


def _candidates(folder: str, module: str, level: int, roots: tuple[str, ...]) -> Iterator[str]:
    parts = module.split(".") if module else []
    for start in starts(folder, level, roots):
        yield from _files_of(os.path.join(start, *parts))


def _files_of(stem: str) -> tuple[str, str]:
    return stem + ".py", os.path.join(stem, "__init__.py")
