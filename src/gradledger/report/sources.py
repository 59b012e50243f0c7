"""The source lines that belong to a verdict, prepared for display."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gradledger.ledger.places import Place
from gradledger.report.visible import TAB, columns, cut, visible

LONGEST = 120
"""Longer lines are cut: they are data or minified, and the place tells which call is meant."""

# Lines as Python counts them: a form feed, at which `splitlines` breaks, doesn't end one.
LINE_BREAK = re.compile(r"\r\n|\r|\n")


class Sources:
    """Looks up lines; a missing one is None, never an error."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._lines: dict[str, list[str]] = {}

    def line(self, path: str, number: int) -> str | None:
        """A line for display: without tabs and control characters, and not too long."""
        raw = self._raw(path, number)
        return None if raw is None else cut(_shown(raw), LONGEST)

    def code(self, place: Place) -> str:
        """The code at a place, without indentation and comment; empty if it is unknown."""
        line = self.line(place.path, place.line)
        return "" if line is None else line[: end_of_code(line)].strip()

    def span(self, place: Place) -> tuple[int, int]:
        """The columns between which the displayed line has the code at a place."""
        line = self.line(place.path, place.line) or ""
        code = line[: end_of_code(line)].rstrip()
        start, end = len(code) - len(code.lstrip()), columns(code)
        # Python counts columns in bytes of UTF-8.
        before = (self._raw(place.path, place.line) or "").encode("utf-8", "replace")
        called = columns(_shown(before[: place.column].decode("utf-8", "ignore"), strip=False))
        return (called if start < called < end else start), end

    def column(self, place: Place) -> int:
        """The column at which a place begins, in characters from 1, as editors count."""
        before = (self._raw(place.path, place.line) or "").encode("utf-8", "replace")
        return len(before[: place.column].decode("utf-8", "ignore")) + 1

    def _raw(self, path: str, number: int) -> str | None:
        if path not in self._lines:
            self._lines[path] = LINE_BREAK.split(self._texts.get(path, "").lstrip("\ufeff"))
        lines = self._lines[path]
        return lines[number - 1] if path in self._texts and 1 <= number <= len(lines) else None


def _shown(raw: str, *, strip: bool = True) -> str:
    text = visible(raw.expandtabs(TAB))
    return text.rstrip() if strip else text


def end_of_code(line: str) -> int:
    """Where a comment begins, else the end of the line."""
    if "#" not in line:
        return len(line)
    from tokenize import COMMENT, TokenError, generate_tokens

    code = line.lstrip()
    try:
        for token in generate_tokens(iter([code]).__next__):
            # If the line is only a comment, that comment is shown.
            if token.type == COMMENT and token.start[1]:
                return len(line) - len(code) + token.start[1]
    except (TokenError, SyntaxError):  # the line alone isn't a statement
        pass
    return len(line)
