"""A code frame: numbered lines of source, with carets below the important ones."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gradledger.report.terminal import Line, Piece, Terminal, width
from gradledger.report.visible import columns


class Mark(NamedTuple):
    """Carets below a line, from one column to another, and a message."""

    start: int
    end: int
    text: str

    @classmethod
    def below(cls, line: str, text: str) -> Mark:
        """A mark below the whole line except its indentation."""
        return cls(len(line) - len(line.lstrip()), columns(line.rstrip()), text)


def framed(
    terminal: Terminal,
    code: Mapping[int, Piece],
    marks: Mapping[int, Mark],
    *,
    style: str,
    sign: str = "^",
    margin: int = 4,
) -> Iterator[Line]:
    """The lines in order of their numbers, with dots where some are left out."""
    numbers = sorted(code)
    gutter = len(str(numbers[-1])) + margin
    for before, number in zip([numbers[0] - 1, *numbers], numbers, strict=False):
        if number != before + 1:
            yield (("...".rjust(gutter), "dim"),)
        mark = marks.get(number)
        numeral = (str(number).rjust(gutter), style if mark else "dim")
        yield (numeral, (" | ", "dim"), _strong(code[number]) if mark else code[number])
        if mark:
            start: Line = (" " * gutter, (" | ", "dim"), " " * mark.start)
            yield from _remark(terminal, start, mark, style, sign)


def _remark(terminal: Terminal, start: Line, mark: Mark, style: str, sign: str) -> Iterator[Line]:
    """The message of a mark, next to its carets; below them if that would be too wide."""
    signs = sign * max(mark.end - mark.start, 1)
    used = width(start)
    if used + len(signs) + 1 + columns(mark.text) <= terminal.width:
        yield (*start, (f"{signs} {mark.text}", style))
    else:
        yield (*start, (signs, style))
        for row in textwrap.wrap(mark.text, max(terminal.width - used, 30)):
            yield (*start, (row, style))


def _strong(piece: Piece) -> Piece:
    """A coloured line in bold; without colour, the carets below it are enough."""
    if not isinstance(piece, str | tuple):
        piece.stylize("bold")
    return piece
