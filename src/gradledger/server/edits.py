"""A text before and after, as the edits of lines that an editor makes."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from lsprotocol import types
from pygls.workspace import PositionCodec

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def text_edits(before: str, after: str, codec: PositionCodec) -> list[types.TextEdit]:
    """Edits of whole lines: the ends of lines stay what they are."""
    old, new = _LINE.findall(before), _LINE.findall(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return [
        types.TextEdit(
            types.Range(types.Position(first, 0), _end(old, last, codec)), "".join(new[start:end])
        )
        for kind, first, last, start, end in matcher.get_opcodes()
        if kind != "equal"
    ]


def _end(lines: list[str], line: int, codec: PositionCodec) -> types.Position:
    """The beginning of a line; behind the last one where that has no end of its own."""
    if line == len(lines) and lines and not lines[-1].endswith(("\n", "\r")):
        return types.Position(line - 1, codec.client_num_units(lines[-1]))
    return types.Position(line, 0)
