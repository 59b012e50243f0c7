"""Which names the lines of a .gitignore mean, as git reads them; only, `?` is a letter here."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator

_CLASSES = {
    "alnum": r"a-zA-Z0-9", "alpha": r"a-zA-Z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f",
    "digit": r"0-9", "graph": r"!-~", "lower": r"a-z", "print": r" -~",
    "punct": r"!-/:-@\[-`{-~", "space": r" \t\n\r\f\v", "upper": r"A-Z", "xdigit": r"0-9a-fA-F",
}  # fmt: skip
_NEVER = r"(?!)"

FOLDER = "\0"
"""Stands behind the path of a folder. No name holds it, so no pattern takes it for a letter."""

Parts = tuple[str, ...]
"""A pattern, as a regular expression for each letter, and these for what may be many."""
_NAME, _REST, _FOLDERS = r"[^/\0]*", r"[^\0]*", r"(?:.*/)?"
_MAYBE_FOLDER = f"{FOLDER}?"
_STARS = frozenset({_NAME, _REST, _FOLDERS})
_OPTIONAL = _STARS | {_MAYBE_FOLDER, ""}
_FEW = 3


class Ignores:
    """The patterns of one file. Paths are relative to where it is; see FOLDER."""

    __slots__ = ("_any", "_patterns", "_wild")

    def __init__(self, lines: Iterable[str]) -> None:
        found = [pattern for line in lines if (pattern := _pattern(line))]
        # Nearly every path is meant by none: one look tells.
        tame = [_regex(parts) for _, parts in found if not _is_wild(parts)]
        self._any = re.compile("|".join(tame) or _NEVER, re.DOTALL).match
        self._wild = [parts for _, parts in found if _is_wild(parts)]
        self._patterns = tuple(reversed(found))

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def verdict(self, path: str) -> bool | None:
        """Ignored, not ignored after all (`!`), or None where no pattern is about it."""
        if not self._any(path) and not any(_matches(parts, path) for parts in self._wild):
            return None
        for ignored, parts in self._patterns:  # the last one that matches decides
            if _matches(parts, path):
                return ignored
        return None


def _regex(parts: Parts) -> str:
    return rf"(?:{''.join(parts)}\Z)"


def _is_wild(parts: Parts) -> bool:
    """Whether `re`, which tries all ways to share a path out among stars, may take for ever."""
    return sum(part in _STARS for part in parts[1:]) > _FEW


def _matches(parts: Parts, path: str) -> bool:
    if not _is_wild(parts):
        return re.compile(_regex(parts), re.DOTALL).match(path) is not None
    # All ways at once: the time it takes is at most the length of the pattern times the path's.
    now = _entered(parts, {0})
    for sign in path:
        now = _entered(parts, {place for old in now for place in _after(parts, old, sign)})
    return len(parts) in now


def _after(parts: Parts, place: int, sign: str) -> Iterator[int]:
    """Where in the pattern one may be behind this letter. Below 0: in the folders before -place."""
    if place < 0 or (place < len(parts) and parts[place] == _FOLDERS):
        behind = -place if place < 0 else place + 1
        yield -behind
        if sign == "/":
            yield behind
    elif place < len(parts):
        if parts[place] in _STARS:
            if sign != FOLDER and (sign != "/" or parts[place] == _REST):
                yield place
        elif re.compile(parts[place], re.DOTALL).fullmatch(sign):
            yield place + 1


def _entered(parts: Parts, places: set[int]) -> set[int]:
    """These places, and those behind parts that may be left out."""
    waiting = list(places)
    while waiting:
        place = waiting.pop()
        if 0 <= place < len(parts) and parts[place] in _OPTIONAL and place + 1 not in places:
            places.add(place + 1)
            waiting.append(place + 1)
    return places


def read_ignores(path: str) -> Ignores | None:
    """The patterns of this file; None where it is not there, can't be read, or has none."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe has no end, nor have some devices
            return None
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
            return Ignores(file) or None
    except OSError:
        return None


def _pattern(line: str) -> tuple[bool, Parts] | None:
    """Whether the line ignores, and what it matches, from the beginning to the end of a path."""
    line = line.removesuffix("\n").removesuffix("\r")
    if line.startswith("#"):
        return None
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    ignored = not line.startswith("!")
    glob = line if ignored else line[1:]
    only_folders = glob.endswith("/")
    glob = glob.removesuffix("/")
    anchored = "/" in glob
    glob = glob.removeprefix("/")
    if not glob:
        return None
    start = "" if anchored else _FOLDERS
    end = FOLDER if only_folders else _MAYBE_FOLDER
    return ignored, (start, *_translated(glob, anchored), end)


def _translated(glob: str, anchored: bool) -> list[str]:
    # git compares what stands before the first of these by itself, and what follows anew: a `**`
    # right there counts as one that begins a pattern.
    plain = re.match(r"[^*?\[\\]*", glob) if anchored else None
    begin = plain.end() if plain else 0
    parts: list[str] = []
    place = 0
    while place < len(glob):
        sign = glob[place]
        place += 1
        if sign == "*":
            part, place = _stars(glob, place, begin)
        elif sign == "?":
            part = r"[^/\0]"
        elif sign == "[":
            part, place = _bracket(glob, place)
        elif sign == "\\":
            part = re.escape(glob[place]) if place < len(glob) else _NEVER
            place += 1
        else:
            part = re.escape(sign)
        if part not in _STARS or parts[-1:] != [part]:  # two of a kind mean no more than one
            parts.append(part)
    return parts


def _stars(glob: str, place: int, begin: int) -> tuple[str, int]:
    """`*` stays in a folder; `**` between slashes does not."""
    first = place - 1
    while place < len(glob) and glob[place] == "*":
        place += 1
    if place - first == 1 or not (first in (0, begin) or glob[first - 1] == "/"):
        return _NAME, place
    if place == len(glob):
        return _REST, place
    if glob[place] == "/":
        return _FOLDERS, place + 1
    return _NAME, place


def _bracket(glob: str, place: int) -> tuple[str, int]:
    """One of several letters, `[a-z]`, or none of them, `[!a-z]`; never a slash."""
    negated = glob[place : place + 1] in ("!", "^")
    place += negated
    first = place
    members = []
    while place < len(glob) and (glob[place] != "]" or place == first):
        if glob.startswith("[:", place):
            end = glob.find(":]", place)
            if end < 0 or glob[place + 2 : end] not in _CLASSES:
                return _NEVER, len(glob)
            members.append(_CLASSES[glob[place + 2 : end]])
            place = end + 2
            continue
        low, place = _letter(glob, place)
        high = low
        if glob[place : place + 1] == "-" and glob[place + 1 : place + 2] not in ("", "]"):
            high, place = _letter(glob, place + 1)
        if low <= high:
            members.append(f"{re.escape(low)}-{re.escape(high)}")
    if place >= len(glob):
        return _NEVER, place  # it is never closed: git matches nothing then
    if not members:
        return (r"[^/\0]" if negated else _NEVER), place + 1
    return rf"(?![/\0])[{'^' if negated else ''}{''.join(members)}]", place + 1


def _letter(glob: str, place: int) -> tuple[str, int]:
    if glob[place] == "\\" and place + 1 < len(glob):
        place += 1
    return glob[place], place + 1
