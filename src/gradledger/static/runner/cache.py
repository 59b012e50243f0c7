"""Remembers what came of checking each file, so that the second run only looks at dates.

A result holds as long as the file, every file that was read or looked for to get it, and our own
code are the same: by date and size, and where these differ, by content.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gradledger.static.result import IRRELEVANT, Result
from gradledger.static.runner.hashing import hash_of
from gradledger.static.source.files import Trouble, read_bytes

if TYPE_CHECKING:
    from gradledger.static.runner.own_code import OwnCode

FOLDER = ".gradledger_cache"

_TOO_FRESH = 2_000_000_000
"""Nanoseconds. A file this young may change again without getting another date."""

Stamp = tuple[int, int]
"""The date of a file, in nanoseconds, and its size."""


class Cache:
    """One file in a folder of its own. A cache that can't be read or written is no cache."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._begun = time.time_ns()
        self._code: OwnCode | None = None
        self._key: dict[str, Any] = {}
        self._nothing: dict[str, list[int]] = {}
        """Dates of files in which there are no gradients."""
        self._hashed: dict[str, list[Any]] = {}
        """Dates, and the hash that the file had then."""
        self._checked: dict[str, list[Any]] = {}
        """The hash of a file, what came of it, and the hashes of all that it depends on."""
        self.carrying: list[str] | None = None
        """Files through which others came to what trains."""
        self._now: dict[str, str | None] = {}
        """The hashes of files in this run. None: it is not there."""
        self._seen: set[str] = set()
        self._changed = False

    def open(self, *, roots: tuple[str, ...] = ()) -> None:
        """Reads what is known from runs like this one: from here, with these roots of imports."""
        from gradledger.static.runner.cache_files import load
        from gradledger.static.runner.own_code import OwnCode

        self._code = OwnCode()
        try:
            here = os.path.relpath(os.getcwd(), self._folder)
        except (OSError, ValueError):  # a folder that is gone; another drive
            here = ""
        self._key = {"here": here, "roots": list(roots)}
        content = load(self._folder, self._key) if here else None
        try:
            if content is None or not self._code.is_that_of(content.get("code")):
                return
        except OSError:  # we are in an archive, and can't look at ourselves
            return
        try:
            nothing, hashed, checked = content["nothing"], content["hashed"], content["checked"]
            if isinstance(nothing, dict) and isinstance(hashed, dict) and isinstance(checked, dict):
                self._nothing, self._hashed, self._checked = nothing, hashed, checked
                self.carrying = content.get("carrying")
        except KeyError:
            return

    def find(self, path: str, stamp: Stamp) -> Result | None:
        """What came of the file; None where that is not known, or no longer."""
        self._seen.add(path)
        date = self._nothing.get(path)
        if date is not None:
            return IRRELEVANT if date == [*stamp] else None
        known = self._checked.get(path)
        if known is None:
            return None
        try:
            own, row, others = known
            if self._hash(path) != own or any(self._hash(p) != h for p, h in others.items()):
                return None
            from gradledger.static.runner.rows import result

            return result(row)
        except (TypeError, ValueError, AttributeError):  # made by someone else
            return None

    def keep_nothing(self, path: str, stamp: Stamp) -> None:
        """Remembers that there are no gradients in the file."""
        if self._is_settled(stamp):
            self._checked.pop(path, None)
            self._nothing[path] = [*stamp]
            self._changed = True

    def keep(
        self, path: str, stamp: Stamp, content: str, result: Result, others: Sequence[str]
    ) -> None:
        """Remembers what came of this content, and which others it depends on, there or not."""
        self._nothing.pop(path, None)
        self._checked.pop(path, None)
        self._changed = True
        if not self._is_settled(stamp) or not all(self._is_settled(stamp_of(p)) for p in others):
            return
        from gradledger.static.runner.rows import row

        self._hashed[path] = [*stamp, content]
        hashes = {other: self._hash(other) for other in others}
        self._checked[path] = [content, row(result), hashes]

    def save(self) -> None:
        """Writes what is new. What is remembered of files that are gone is forgotten."""
        if not self._changed or not self._key.get("here") or self._code is None:
            return
        from gradledger.static.runner.cache_files import save

        self._changed = False
        for table in (self._nothing, self._hashed, self._checked):
            for path in [p for p in table if p not in self._seen and not os.path.exists(p)]:
                del table[path]
        tables = {"nothing": self._nothing, "hashed": self._hashed, "checked": self._checked}
        rest = {"code": self._code.as_row(), "carrying": self.carrying}
        with contextlib.suppress(OSError):
            save(self._folder, self._key, {**rest, **tables})

    def _hash(self, path: str) -> str | None:
        if path not in self._now:
            self._now[path] = self._hashed_now(path)
        return self._now[path]

    def _hashed_now(self, path: str) -> str | None:
        stamp = stamp_of(path)
        if stamp is None:
            return None
        known = self._hashed.get(path)
        if known is not None and known[:2] == [*stamp]:
            return str(known[2])
        data = read_bytes(path)
        if isinstance(data, Trouble):
            return None
        found = hash_of(data)
        if self._is_settled(stamp):
            self._hashed[path] = [*stamp, found]
            self._changed = True
        return found

    def _is_settled(self, stamp: Stamp | None) -> bool:
        return stamp is None or stamp[0] < self._begun - _TOO_FRESH


def stamp_of(path: str) -> Stamp | None:
    """Date and size of a file; None where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size


def folder_for(start: str = ".") -> str:
    """Where the cache belongs: beside the nearest pyproject.toml above `start`, or in here."""
    at = os.path.abspath(start)
    while not os.path.isfile(os.path.join(at, "pyproject.toml")):
        above = os.path.dirname(at)
        if above == at:
            return os.path.join(os.path.abspath("."), FOLDER)
        at = above
    return os.path.join(at, FOLDER)
