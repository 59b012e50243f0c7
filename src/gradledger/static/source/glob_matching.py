"""Matches one pattern of a .gitignore with paths, in time that no pattern can blow up."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gradledger.static import budget

FOLDER = "\0"
"""Stands behind the path of a folder. No name holds it, so no pattern takes it for a letter."""

NAME, REST, FOLDERS = r"[^/\0]*", r"[^\0]*", r"(?:.*/)?"
MAYBE_FOLDER = f"{FOLDER}?"
STARS = frozenset({NAME, REST, FOLDERS})
_OPTIONAL = STARS | {MAYBE_FOLDER, ""}


class Glob:
    """A pattern: a regular expression for each letter, and the above for what may be many."""

    __slots__ = (
        "_folders",
        "_names",
        "_on",
        "_optional",
        "_parts",
        "_regex",
        "_rests",
        "is_wild",
        "letters",
    )

    def __init__(self, parts: Iterable[str]) -> None:
        self._parts = tuple(parts)
        self.letters = sum(part not in _OPTIONAL for part in self._parts)
        """A path has to have as many to match."""
        self.is_wild = sum(part in STARS for part in self._parts[1:]) > budget.FEW_STARS
        """Whether `re`, which tries all ways to share a path out among stars, may take for ever."""
        self._regex: re.Pattern[str] | None = None
        self._on: dict[str, int] = {}
        """By letter, the parts that it matches, as bits."""

    @property
    def text(self) -> str:
        """A regular expression that matches the same."""
        return rf"(?:{''.join(self._parts)}\Z)"

    def matches(self, path: str) -> bool:
        """From the beginning to the end of the path."""
        if len(path) < self.letters:
            return False
        if self.is_wild:
            return self._matches_wild(path)
        if self._regex is None:
            self._regex = re.compile(self.text, re.DOTALL)
        return self._regex.match(path) is not None

    def _matches_wild(self, path: str) -> bool:
        """All ways at once: bit i of `now` says that the parts before i have matched so far."""
        if not self._on:
            self._prepare()
        now, inside = self._behind_optional(1), 0
        for sign in path:
            # A letter moves on, a star stays; `inside` are folders that no slash has ended yet.
            inside |= now & self._folders
            after = (now & self._matched_by(sign)) << 1
            if sign == "/":
                after |= inside << 1
            elif sign != FOLDER:
                after |= now & self._names
            if sign != FOLDER:
                after |= now & self._rests
            now = self._behind_optional(after)
            if not (now or inside):
                return False
        return bool(now >> len(self._parts) & 1)

    def _prepare(self) -> None:
        self._names = self._bits({NAME})
        self._rests = self._bits({REST})
        self._folders = self._bits({FOLDERS})
        self._optional = self._bits(_OPTIONAL)

    def _bits(self, kinds: Iterable[str]) -> int:
        return _as_bits(part in kinds for part in self._parts)

    def _matched_by(self, sign: str) -> int:
        known = self._on.get(sign)
        if known is None:
            single = {part for part in self._parts if part not in STARS}
            having = {part for part in single if re.fullmatch(part, sign, re.DOTALL)}
            known = self._on[sign] = self._bits(having)
        return known

    def _behind_optional(self, now: int) -> int:
        """These places, and those behind parts that may be left out."""
        while (more := now | (now & self._optional) << 1) != now:
            now = more
        return now


def _as_bits(flags: Iterable[bool]) -> int:
    """The first flag is the lowest bit."""
    text = "".join("1" if flag else "0" for flag in flags)
    return int(text[::-1] or "0", 2)
