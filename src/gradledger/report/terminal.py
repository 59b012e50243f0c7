"""Output to a terminal or a pipe: the same lines, with and without colour.

Commands make lines of styled pieces. rich is loaded only if there is colour.
"""

from __future__ import annotations

import os
import sys

from gradledger.report.visible import columns, put, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import TextIO

    from rich.console import Console
    from rich.text import Text

    from gradledger.rules.programs import Program

    Piece = str | tuple[str, str] | Text
    """Text, text and the name of its style, or, where there is colour, text painted already."""
    Line = Sequence[Piece]
else:
    Piece = Line = object

WIDEST = 100
"""Longer lines are hard to read, however wide the terminal."""
NARROWEST = 40
PIPED = 80
"""Into a pipe or a file: always the same, whatever the size of the terminal."""

STYLES = {
    "title": "bold",
    "heading": "bold",
    "code": "cyan",
    "dim": "dim",
    "error": "bold red",
    "warning": "bold yellow",
    "info": "bold blue",
    "fault": "bold red",
    "cure": "bold green",
}
"""The terminal's own sixteen colours: they suit its background, dark or light."""


class Terminal:
    """An output stream: standard output, unless another one is given."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stdout if stream is None else stream
        on_screen = self.stream.isatty()
        smart = on_screen and os.environ.get("TERM") not in ("dumb", "unknown")
        # A named output file never gets colour, whatever FORCE_COLOR says.
        forced = bool(os.environ.get("FORCE_COLOR")) and self.stream in (sys.stdout, sys.stderr)
        self.colour = not os.environ.get("NO_COLOR") and (forced or smart)
        self.width = min(_columns(self.stream), WIDEST) if on_screen or self.colour else PIPED
        self.console = self._console() if self.colour else None

    def show(self, lines: Iterable[Line]) -> None:
        """Prints the lines. Lines are never cut, and only prose is wrapped."""
        for line in lines:
            if self.console is None:
                put("".join(map(plain, line)).rstrip(), self.stream)
            else:
                from rich.text import Text

                # Captured, and then printed by us: rich would exit by itself on a closed pipe.
                with self.console.capture() as painted:
                    text = Text.assemble(*map(_harmless, line))
                    self.console.print(text, soft_wrap=True, end="")
                put(painted.get(), self.stream)
        self.stream.flush()

    def prose(
        self, text: str, *, lead: str = "", indent: int = 2, lead_style: str = "heading"
    ) -> Iterator[Line]:
        """A paragraph, filled to the width; text in backticks is code.

        A lead is the start of the first line, and stands out.
        """
        margin = " " * indent
        rows = _filled(f"{lead} {text}" if lead else f"{margin}{text}", self.width, margin)
        code = False
        for row in rows:
            pieces: list[Piece] = [(lead, lead_style)] if lead else []
            parts = row.removeprefix(lead).split("`")
            yield (*pieces, *self._code_apart(parts, code=code))
            code = code != (len(parts) % 2 == 0)
            lead = ""

    def words(self, text: str) -> Line:
        """Some words on one line; text in backticks is code."""
        return self._code_apart(text.split("`"))

    def _code_apart(self, parts: Sequence[str], *, code: bool = False) -> Line:
        """Every second part is code. Without colour, the backticks stay."""
        pieces: list[Piece] = []
        for number, part in enumerate(parts):
            if number:
                code = not code
                pieces.append("" if self.colour else "`")
            pieces.append((part, "code") if code else part)
        return pieces

    def frame(self, program: Program, style: str, sign: str = "^") -> Iterator[Line]:
        """The important lines of a program, with the messages of its marks below them."""
        from gradledger.report.frames import Mark, framed

        lines = program.lines
        code = self.painted(lines)
        marks = {n: Mark.below(lines[n - 1], text) for n, text in program.marks.items()}
        shown = {n: code[n - 1] for n in program.frame()}
        yield from framed(self, shown, marks, style=style, sign=sign)

    def painted(self, lines: Sequence[str]) -> Sequence[Piece]:
        """Source by line; where there is colour, with its syntax coloured."""
        if not self.colour:
            return lines
        from rich.syntax import Syntax

        # This theme is made of the terminal's own colours, and has no background.
        painter = Syntax("", "python", theme="ansi_dark")
        text = "\n".join(map(visible, lines))
        return list(painter.highlight(text).split(allow_blank=True))

    def waiting(self, text: str) -> AbstractContextManager[object]:
        """Shows progress while something takes long; on a screen only."""
        if self.console is None or not self.stream.isatty():
            from contextlib import nullcontext

            return nullcontext()
        return self.console.status(text, spinner="line")

    def _console(self) -> Console:
        from rich.console import Console
        from rich.theme import Theme

        return Console(
            file=self.stream,
            force_terminal=True,
            highlight=False,
            theme=Theme(STYLES),
            width=self.width,
        )


def width(line: Line) -> int:
    """How many columns a line takes."""
    return sum(columns(plain(piece)) for piece in line)


def _filled(text: str, width: int, margin: str) -> list[str]:
    if text.isprintable() and len(text) <= width:
        return [text.rstrip()] if text.strip() else []
    from textwrap import wrap  # not needed for the few words of most reports

    return wrap(
        text,
        width,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def plain(piece: Piece) -> str:
    """Its text, without colour."""
    return visible(piece[0] if isinstance(piece, tuple) else str(piece))


def _harmless(piece: Piece) -> Piece:
    match piece:
        case str():
            return visible(piece)
        case (text, style):
            return visible(text), style
    return piece


def _columns(stream: TextIO) -> int:
    asked = os.environ.get("COLUMNS", "")
    if asked.isdigit() and int(asked):
        return max(int(asked), NARROWEST)
    try:
        return max(os.get_terminal_size(stream.fileno()).columns or PIPED, NARROWEST)
    except (OSError, ValueError):  # not a terminal, or not even a file
        return PIPED
