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

from gradledger.static import budget
from gradledger.static.result import IRRELEVANT, Result
from gradledger.static.runner.cache_content import Content, Places, Stamp, read
from gradledger.static.runner.cache_folder import CacheProblem, cache_folder, check_folder
from gradledger.static.runner.hashing import hash_of
from gradledger.static.source.files import Trouble, read_bytes

if TYPE_CHECKING:
    from gradledger.static.runner.own_code import OwnCode


class Cache:
    """What is remembered of a project, in one file of the user's cache folder.

    A cache that can't be read or written is no cache. One that is not ours is ignored: `remark`
    says so, in one line.
    """

    def __init__(self, project: str, *, folder: str | None = None) -> None:
        self._project = project
        self._folder = cache_folder() if folder is None else folder
        self._begun = time.time_ns()
        self._code: OwnCode | None = None
        self._key: dict[str, Any] = {}
        self._known = Content()
        self._places = Places(project, ())
        self._now: dict[str, str | None] = {}
        """The hashes of files in this run. None: it is not there."""
        self._seen: set[str] = set()
        self._changed = False
        self.remark = ""
        """Why an earlier cache was ignored; empty if it was not."""

    @property
    def carrying(self) -> list[str] | None:
        """Files through which others came to what trains."""
        return self._known.carrying

    @carrying.setter
    def carrying(self, paths: list[str]) -> None:
        self._known.carrying = paths

    def open(self, *, roots: tuple[str, ...] = ()) -> None:
        """Reads what is known from runs like this one: from here, with these roots of imports."""
        from gradledger.static.runner.own_code import OwnCode

        try:
            here = os.getcwd()
        except OSError:  # a folder that is gone
            return
        self._places = Places(self._project, roots)
        key = {"project": os.path.realpath(self._project), "here": here, "roots": list(roots)}
        try:
            check_folder(self._folder, self._project)
        except CacheProblem as problem:
            self._ignore(self._folder, problem)
            return
        self._code, self._key = OwnCode(), key
        self._load()

    def _load(self) -> None:
        from gradledger.static.runner.cache_files import load, path_of

        try:
            content = load(self._folder, self._key)
            # An OSError: we are in an archive, and can't look at ourselves.
            with contextlib.suppress(OSError):
                if content is not None and self._is_by_this_code(content):
                    self._known = read(content, self._places)
        except CacheProblem as problem:
            self._ignore(path_of(self._folder, self._key), problem)
        except ValueError:
            why = "it holds what gradledger does not write"
            self._ignore(path_of(self._folder, self._key), CacheProblem(why))

    def _ignore(self, path: str, problem: CacheProblem) -> None:
        self.remark = f"the cache {path} is ignored: {problem}"
        self._changed = True  # so that it is replaced, if it can be

    def _is_by_this_code(self, content: dict[str, Any]) -> bool:
        return self._code is not None and self._code.is_that_of(content.get("code"))

    def find(self, path: str, stamp: Stamp) -> Result | None:
        """What came of the file; None where that is not known, or no longer."""
        self._seen.add(path)
        date = self._known.nothing.get(path)
        if date is not None:
            return IRRELEVANT if date == [*stamp] else None
        found = self._known.results.get(path)
        if found is None:
            return None
        own, _, others = self._known.checked[path]
        if self._hash(path) != own or any(self._hash(p) != h for p, h in others.items()):
            return None
        return found

    def keep_nothing(self, path: str, stamp: Stamp) -> None:
        """Remembers that there are no gradients in the file."""
        if self._is_settled(stamp):
            self._known.checked.pop(path, None)
            self._known.nothing[path] = [*stamp]
            self._changed = True

    def keep(
        self, path: str, stamp: Stamp, content: str, result: Result, others: Sequence[str]
    ) -> None:
        """Remembers what came of this content, and which others it depends on, there or not."""
        self._known.nothing.pop(path, None)
        self._known.checked.pop(path, None)
        self._changed = True
        if not self._is_settled(stamp) or not all(self._is_settled(stamp_of(p)) for p in others):
            return
        if not self._may_be_read_back(path, result):
            return
        from gradledger.static.runner.rows import row

        self._known.hashed[path] = [*stamp, content]
        hashes = {other: self._hash(other) for other in others}
        self._known.checked[path] = [content, row(result), hashes]

    def _may_be_read_back(self, path: str, result: Result) -> bool:
        """Whether all of its places are in files that a cache may point at."""
        allowed = self._places.allowed_for(path)
        checked = result.checked
        findings = (place.path for f in checked.findings for p in f.places for place in p.way)
        unknown = (each.path for each in checked.unknown)
        troubles = (trouble.path for trouble in result.troubles)
        return all(map(allowed, (*findings, *unknown, *troubles)))

    def save(self) -> None:
        """Writes what is new. What is remembered of files that are gone is forgotten."""
        if not self._changed or self._code is None:
            return
        from gradledger.static.runner.cache_files import save

        self._changed = False
        known = self._known
        for table in (known.nothing, known.hashed, known.checked):
            for path in [p for p in table if p not in self._seen and not os.path.exists(p)]:
                del table[path]
        with contextlib.suppress(OSError):
            save(self._folder, self._key, {"code": self._code.as_row(), **known.as_json()})

    def _hash(self, path: str) -> str | None:
        if path not in self._now:
            self._now[path] = self._hashed_now(path)
        return self._now[path]

    def _hashed_now(self, path: str) -> str | None:
        stamp = stamp_of(path)
        if stamp is None:
            return None
        known = self._known.hashed.get(path)
        if known is not None and known[:2] == [*stamp]:
            return str(known[2])
        data = read_bytes(path)
        if isinstance(data, Trouble):
            return None
        found = hash_of(data)
        if self._is_settled(stamp):
            self._known.hashed[path] = [*stamp, found]
            self._changed = True
        return found

    def _is_settled(self, stamp: Stamp | None) -> bool:
        return stamp is None or stamp[0] < self._begun - budget.TOO_FRESH


def stamp_of(path: str) -> Stamp | None:
    """Date and size of a file; None where there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size
