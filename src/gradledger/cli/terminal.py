"""How gradledger looks in a terminal, and in a pipe: the same lines, with and without colour.

Commands lay out lines of styled pieces. Only where colour is wanted does rich paint them.
"""

from __future__ import annotations

import io
import os
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from gradledger.rules.programs import Program

Piece: TypeAlias = "str | tuple[str, str] | Text"
"""Text, text and the name of its style, or, where there is colour, text that is painted already."""
Line: TypeAlias = Sequence[Piece]

WIDEST = 100
"""Longer lines are hard to read, however wide the terminal."""
NARROWEST = 40
PIPED = 80
"""Into a pipe or a file: always the same, whatever the terminal round it."""

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
    """Standard output, as it is now."""

    def __init__(self) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # A letter that the terminal can't show is no reason to show nothing.
            sys.stdout.reconfigure(errors="replace")
        on_screen = sys.stdout.isatty()
        smart = on_screen and os.environ.get("TERM") not in ("dumb", "unknown")
        self.colour = not os.environ.get("NO_COLOR") and (
            bool(os.environ.get("FORCE_COLOR")) or smart
        )
        self.width = min(_columns(), WIDEST) if on_screen or self.colour else PIPED
        self.console = self._console() if self.colour else None

    def show(self, lines: Iterable[Line]) -> None:
        """Prints the lines. None is cut, and only prose is ever wrapped."""
        for line in lines:
            if self.console is None:
                print("".join(map(_plain, line)).rstrip())
            else:
                from rich.text import Text

                # Caught, and then printed by us: rich would exit by itself on a closed pipe.
                with self.console.capture() as painted:
                    self.console.print(Text.assemble(*line), soft_wrap=True, end="")
                print(painted.get())
        sys.stdout.flush()

    def prose(self, text: str, *, lead: str = "", indent: int = 2) -> Iterator[Line]:
        """A paragraph, filled to the width; what stands in backticks is code.

        A lead is the start of the first line, and stands out.
        """
        margin = " " * indent
        rows = textwrap.wrap(
            f"{lead} {text}" if lead else text,
            self.width,
            initial_indent="" if lead else margin,
            subsequent_indent=margin,
            break_long_words=False,
            break_on_hyphens=False,
        )
        code = False
        for row in rows:
            pieces: list[Piece] = [(lead, "heading")] if lead else []
            for number, part in enumerate(row.removeprefix(lead).split("`")):
                if number:
                    code = not code
                    pieces.append("" if self.colour else "`")
                pieces.append((part, "code") if code else part)
            yield pieces
            lead = ""

    def frame(self, program: Program, style: str, sign: str = "^") -> Iterator[Line]:
        """The lines of a program that matter, with what its marks say below the marked ones."""
        code, shown = self._painted(program), program.frame()
        gutter = len(str(shown[-1])) + 4
        for before, number in zip([shown[0] - 1, *shown], shown, strict=False):
            if number != before + 1:
                yield (("...".rjust(gutter), "dim"),)
            marked = number in program.marks
            numeral = (str(number).rjust(gutter), style if marked else "dim")
            yield (numeral, (" | ", "dim"), code[number - 1])
            if marked:
                line = program.lines[number - 1]
                margin = (" " * gutter, (" | ", "dim"), " " * (len(line) - len(line.lstrip())))
                yield from self._remark(
                    margin, sign * len(line.strip()), program.marks[number], style
                )

    def _remark(self, margin: Line, signs: str, text: str, style: str) -> Iterator[Line]:
        """What a mark says, next to its signs; where that is too wide, below them."""
        used = len("".join(map(_plain, margin)))
        if used + len(signs) + 1 + len(text) <= self.width:
            yield (*margin, (f"{signs} {text}", style))
        else:
            yield (*margin, (signs, style))
            for row in textwrap.wrap(text, max(self.width - used, 30)):
                yield (*margin, (row, style))

    def _painted(self, program: Program) -> Sequence[Piece]:
        """The source by line; in colour, with its syntax coloured and its marked lines bold."""
        if not self.colour:
            return program.lines
        from rich.syntax import Syntax

        # This theme is made of the terminal's own colours, and has no background.
        painter = Syntax("", "python", theme="ansi_dark")
        rows = list(painter.highlight("\n".join(program.lines)).split(allow_blank=True))
        for number in program.marks:
            rows[number - 1].stylize("bold")
        return rows

    def waiting(self, text: str) -> AbstractContextManager[object]:
        """A sign of life while something takes its time, on a screen only."""
        if self.console is None or not sys.stdout.isatty():
            return nullcontext()
        return self.console.status(text, spinner="line")

    def _console(self) -> Console:
        from rich.console import Console
        from rich.theme import Theme

        return Console(
            file=sys.stdout,
            force_terminal=True,
            highlight=False,
            theme=Theme(STYLES),
            width=self.width,
        )


def _plain(piece: Piece) -> str:
    return piece[0] if isinstance(piece, tuple) else str(piece)


def _columns() -> int:
    from shutil import get_terminal_size

    return max(get_terminal_size((PIPED, 24)).columns, NARROWEST)
