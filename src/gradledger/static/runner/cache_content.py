"""What a cache remembers, and whether what was read back can be that."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from gradledger.static import budget
from gradledger.static.result import Result
from gradledger.static.runner.cache_folder import is_inside
from gradledger.static.runner.rows import result
from gradledger.static.source.cell_places import file_and_cell

Stamp = tuple[int, int]
"""The date of a file, in nanoseconds, and its size."""


class Content:
    """The tables of a cache."""

    def __init__(self) -> None:
        self.nothing: dict[str, list[int]] = {}
        """Dates of files in which there are no gradients."""
        self.hashed: dict[str, list[Any]] = {}
        """Dates, and the hash that the file had then."""
        self.checked: dict[str, list[Any]] = {}
        """The hash of a file, what came of it, and the hashes of all that it depends on."""
        self.results: dict[str, Result] = {}
        """The same results, as they were read."""
        self.carrying: list[str] | None = None
        """Files through which others came to what trains."""

    def as_json(self) -> dict[str, Any]:
        """What `read` reads."""
        return {
            "nothing": self.nothing,
            "hashed": self.hashed,
            "checked": self.checked,
            "carrying": self.carrying,
        }


def read(content: dict[str, Any], places: Places) -> Content:
    """The tables, each item checked. Raises ValueError for anything that we did not write."""
    found = Content()
    found.nothing = _table(content.get("nothing"), _is_stamp)
    found.hashed = _table(content.get("hashed"), _is_dated_hash)
    found.checked = _table(content.get("checked"), _is_checked)
    for path, (_, row, _) in found.checked.items():
        found.results[path] = result(row, may_show=places.allowed_for(path))
    carrying = content.get("carrying")
    if carrying is not None and not _are_texts(carrying):
        raise ValueError
    found.carrying = carrying
    return found


class Places:
    """Which files a remembered result may point at: itself, and what is inside the project."""

    def __init__(self, project: str, roots: tuple[str, ...]) -> None:
        self._inside = {os.path.realpath(folder) for folder in (project, *roots)}
        self._known: dict[str, bool] = {}

    def allowed_for(self, own: str) -> Callable[[str], bool]:
        """The question for results of this file."""

        def allowed(path: str) -> bool:
            file, _ = file_and_cell(path)
            return file == own or self._is_inside(file)

        return allowed

    def _is_inside(self, path: str) -> bool:
        known = self._known.get(path)
        if known is None:
            # The real path: a link in the project may lead anywhere.
            real = os.path.realpath(path)
            known = any(is_inside(real, folder) for folder in self._inside)
            self._known[path] = known
        return known


def _table(value: object, is_one: Callable[[object], bool]) -> dict[str, Any]:
    # The keys of JSON are texts.
    if not isinstance(value, dict) or not all(map(is_one, value.values())):
        raise ValueError
    return value


def _is_stamp(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_size, value))


def _is_size(value: object) -> bool:
    return type(value) is int and -budget.LARGEST_STAMP < value < budget.LARGEST_STAMP


def _is_dated_hash(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    return _is_stamp(value[:2]) and isinstance(value[2], str)


def _is_checked(value: object) -> bool:
    if not isinstance(value, list) or len(value) != 3:
        return False
    own, _, others = value
    return isinstance(own, str) and isinstance(others, dict) and all(map(_is_hash, others.values()))


def _is_hash(value: object) -> bool:
    return value is None or isinstance(value, str)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
