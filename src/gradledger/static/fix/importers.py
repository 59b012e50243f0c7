"""Which files may follow another one: those that import it, by themselves or through others."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator

# In a notebook, a line of code begins with a quote.
_FROM = re.compile(
    rb"(?:^|\")[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]*)", re.MULTILINE
)
_IMPORT = re.compile(rb"(?:^|\"|;)[ \t]*import[ \t]+([^\n#;(\"]+)", re.MULTILINE)
_WORD = re.compile(rb"[\w.]+")


class Importers:
    """Asks the bytes of the files, not their trees: too many answers are right, too few are not."""

    def __init__(self, files: Iterable[str], read: Callable[[str], bytes]) -> None:
        self._files = [(file, os.path.dirname(os.path.abspath(file)) + os.sep) for file in files]
        self._read = read
        self._imports: dict[str, frozenset[str]] = {}

    def of(self, file: str) -> list[str]:
        """The files that may import this one, the nearest first."""
        found: list[str] = []
        new = [file]
        while new:
            modules = [_module(one) for one in new]
            known = {file, *found}
            new = [
                other
                for other, folder in self._files
                if other not in known and self._may_import(other, folder, modules)
            ]
            found += new
        return found

    def _may_import(self, file: str, folder: str, modules: Iterable[str]) -> bool:
        if file not in self._imports:
            self._imports[file] = frozenset(_imported(self._read(file)))
        return any(
            folder.startswith((start, start.removesuffix(_SOURCES) + os.sep))
            for module in modules
            for name in self._imports[file]
            if name in module
            for start in _starts(module, name)
        )


_SOURCES = f"{os.sep}src{os.sep}"


def _module(file: str) -> str:
    """The path that an import of the file ends with, between separators."""
    path, _ = os.path.splitext(os.path.abspath(file))
    return path.removesuffix(os.sep + "__init__") + os.sep


def _starts(module: str, name: str) -> Iterator[str]:
    """The folders from which a module is found by that name, or a package that it is in."""
    place = module.find(name)
    while place >= 0:
        yield module[: place + 1]
        place = module.find(name, place + 1)


def _imported(data: bytes) -> Iterator[str]:
    """All that may be a module, as parts of a path: `/package/module/`."""
    for found in _FROM.finditer(data):
        parent = found[1].strip(b".")
        if parent:
            yield _as_path(parent)
        for word in _WORD.findall(found[2]):
            yield _as_path(parent + b"." + word if parent else word)
    for found in _IMPORT.finditer(data):
        for word in _WORD.findall(found[1]):
            yield _as_path(word)


def _as_path(name: bytes) -> str:
    parts = name.decode("utf-8", "replace").split(".")
    return os.sep + os.sep.join(part for part in parts if part) + os.sep
