"""The start and end of the code at a place, for programs that underline it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
from typing import NamedTuple

from gradledger.ledger.places import Place
from gradledger.report.sources import LINE_BREAK, end_of_code


class Region(NamedTuple):
    """Lines count from 1, columns from 0; the end is after the last character."""

    line: int
    column: int
    end_line: int
    end_column: int


class Regions:
    """Finds where the code at a place ends; each text is parsed at most once, when first needed."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._lines: dict[str, list[str]] = {}
        self._ends: dict[str, dict[tuple[int, int], tuple[int, int]]] = {}

    def of(self, place: Place) -> Region | None:
        """The call or statement at a place, else the code of its line; None without the text."""
        lines = self._lines_of(place.path)
        if not 1 <= place.line <= len(lines):
            return None
        line = lines[place.line - 1]
        code = line[: end_of_code(line)].rstrip()
        start = len(code) - len(code.lstrip())
        column = _letters(line, place.column)
        before = line[: max(column, start)].encode("utf-8", "replace")
        end = self._ends_in(place.path).get((place.line, len(before)))
        if not start <= column < len(code):
            column = start
        if end is None:
            return Region(place.line, column, place.line, max(len(code), column))
        return Region(place.line, column, end[0], _letters(lines[end[0] - 1], end[1]))

    def in_bytes(self, path: str, region: Region) -> tuple[int, int]:
        """The columns of a region's start and end, counted in bytes of UTF-8."""
        lines = self._lines_of(path)
        before = lines[region.line - 1][: region.column]
        last = lines[region.end_line - 1][: region.end_column]
        return len(before.encode("utf-8", "replace")), len(last.encode("utf-8", "replace"))

    def _lines_of(self, path: str) -> list[str]:
        if path not in self._lines:
            text = self._texts.get(path)
            self._lines[path] = [] if text is None else LINE_BREAK.split(text.lstrip("\ufeff"))
        return self._lines[path]

    def _ends_in(self, path: str) -> dict[tuple[int, int], tuple[int, int]]:
        if path not in self._ends:
            self._ends[path] = _ends(self._texts[path].lstrip("\ufeff"))
        return self._ends[path]


def _ends(text: str) -> dict[tuple[int, int], tuple[int, int]]:
    """By line and byte offset: where the longest simple statement or call from there ends."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[tuple[int, int], tuple[int, int]] = {}
    for node in ast.walk(tree):
        # For a loop, a function or a `with`, the first line is enough.
        if isinstance(node, ast.expr | ast.stmt) and not hasattr(node, "body"):
            start = node.lineno, node.col_offset
            end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset
            found[start] = max(found.get(start, end), end)
    return found


def _letters(line: str, column: int) -> int:
    """Python counts columns in bytes of UTF-8."""
    return len(line.encode("utf-8", "replace")[:column].decode("utf-8", "ignore"))
