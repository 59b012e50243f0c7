"""A text before and after, as the edits of lines that an editor makes."""

from __future__ import annotations

from lsprotocol import types
from pygls.workspace import PositionCodec

from gradledger.report.replacements import replacements
from gradledger.report.sources import LINE_BREAK


def text_edits(before: str, after: str, codec: PositionCodec) -> list[types.TextEdit]:
    """Edits of whole lines: the ends of lines stay what they are."""
    lines = LINE_BREAK.split(before)
    return [
        types.TextEdit(
            types.Range(types.Position(edit.line - 1, 0), _end(lines, edit.end - 1, codec)),
            edit.text,
        )
        for edit in replacements(before, after)
    ]


def _end(lines: list[str], line: int, codec: PositionCodec) -> types.Position:
    """The beginning of a line; behind the last one where that has no end of its own."""
    if line == len(lines):
        return types.Position(line - 1, codec.client_num_units(lines[-1]))
    return types.Position(line, 0)
