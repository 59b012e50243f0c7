"""Rows as CSV: RFC 4180, UTF-8, a row of names first.

A name can be anybody's: a parameter is called what whoever made the model called it. A text that a
spreadsheet would take for a formula (`=cmd|…`) has an apostrophe put before it. Honest names do
not begin like that, so that nothing is lost; numbers are numbers, and stay as they are.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Generator, Iterable, Sequence
from typing import TextIO

Cell = str | int | float | bool | None
Row = Sequence[Cell]
Rows = Generator[Row, None, None]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What makes a formula of a text, here or there; the last four are their wide forms."""


def write_rows(columns: Sequence[str], rows: Iterable[Row], stream: TextIO) -> None:
    """Writes the names and then each row as it comes."""
    if isinstance(stream, io.TextIOWrapper):
        # The encoding and the ends of lines are the format's, whatever the system's are.
        stream.reconfigure(encoding="utf-8", newline="")
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_written(cell) for cell in row])
    stream.flush()


def _written(cell: Cell) -> str | int:
    match cell:
        case None:
            return ""
        case bool():
            return "true" if cell else "false"
        case float():
            return repr(cell)
        case str():
            text = cell.encode("utf-8", "replace").decode("utf-8")
            return f"'{text}" if text.startswith(_FORMULA) else text
    return cell
