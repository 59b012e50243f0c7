"""Which names the lines of a .gitignore mean, as git reads them; only, `?` is a letter here."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable

from gradledger.static import budget
from gradledger.static.source.glob_matching import (
    FOLDER,
    FOLDERS,
    MAYBE_FOLDER,
    NAME,
    REST,
    STARS,
    Glob,
)
from gradledger.static.source.plain_globs import PlainGlob, PlainGlobs, plain_glob

__all__ = ["FOLDER", "Ignores", "read_ignores"]

_CLASSES = {
    "alnum": r"a-zA-Z0-9", "alpha": r"a-zA-Z", "blank": r" \t", "cntrl": r"\x00-\x1f\x7f",
    "digit": r"0-9", "graph": r"!-~", "lower": r"a-z", "print": r" -~",
    "punct": r"!-/:-@\[-`{-~", "space": r" \t\n\r\f\v", "upper": r"A-Z", "xdigit": r"0-9a-fA-F",
}  # fmt: skip
_NEVER = r"(?!)"


class Ignores:
    """The patterns of one file. Paths are relative to where it is; see FOLDER."""

    __slots__ = ("_any", "_patterns", "_plain", "_wild")

    def __init__(self, lines: Iterable[str]) -> None:
        found = [pattern for line in lines if (pattern := _pattern(line))]
        # Nearly every path is meant by none: one look tells.
        self._plain = PlainGlobs([glob for _, glob in found if isinstance(glob, PlainGlob)])
        others = [glob for _, glob in found if isinstance(glob, Glob)]
        tame = [glob.text for glob in others if not glob.is_wild]
        self._any = re.compile("|".join(tame), re.DOTALL).match if tame else None
        self._wild = [glob for glob in others if glob.is_wild]
        self._patterns = tuple(reversed(found))

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def verdict(self, path: str) -> bool | None:
        """Ignored, not ignored after all (`!`), or None where no pattern is about it."""
        if not self._may_match(path):
            return None
        for ignored, glob in self._patterns:  # the last one that matches decides
            if glob.matches(path):
                return ignored
        return None

    def _may_match(self, path: str) -> bool:
        if self._plain.may_match(path) or (self._any is not None and self._any(path)):
            return True
        return any(glob.matches(path) for glob in self._wild)


def read_ignores(path: str) -> Ignores | None:
    """The patterns of this file; None where it is not there, can't be read, or has none."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe has no end, nor have some devices
            return None
        with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="\n") as file:
            return Ignores(_whole_lines(file.read(budget.MOST_IGNORE_BYTES))) or None
    except OSError:
        return None


def _whole_lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if len(text) < budget.MOST_IGNORE_BYTES else lines[:-1]


def _pattern(line: str) -> tuple[bool, Glob | PlainGlob] | None:
    """Whether the line ignores, and what it matches, from the beginning to the end of a path."""
    line = line.removesuffix("\n").removesuffix("\r")
    if line.startswith("#") or len(line) > budget.LONGEST_PATTERN:
        return None
    bare = line.rstrip(" ")
    line = f"{bare} " if bare.endswith("\\") and bare != line else bare
    ignored = not line.startswith("!")
    glob = line if ignored else line[1:]
    only_folders = glob.endswith("/")
    glob = glob.removesuffix("/")
    anchored = "/" in glob
    glob = glob.removeprefix("/")
    if not glob:
        return None
    plain = plain_glob(glob, anchored=anchored, only_folders=only_folders)
    if plain is not None:
        return ignored, plain
    start = "" if anchored else FOLDERS
    end = FOLDER if only_folders else MAYBE_FOLDER
    return ignored, Glob((start, *_translated(glob, anchored), end))


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
        if part not in STARS or parts[-1:] != [part]:  # two of a kind mean no more than one
            parts.append(part)
    return parts


def _stars(glob: str, place: int, begin: int) -> tuple[str, int]:
    """`*` stays in a folder; `**` between slashes does not."""
    first = place - 1
    while place < len(glob) and glob[place] == "*":
        place += 1
    if place - first == 1 or not (first in (0, begin) or glob[first - 1] == "/"):
        return NAME, place
    if place == len(glob):
        return REST, place
    if glob[place] == "/":
        return FOLDERS, place + 1
    return NAME, place


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
