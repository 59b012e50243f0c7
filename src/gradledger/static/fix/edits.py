"""Edits of a text: what is not meant keeps every character."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Edit(NamedTuple):
    """These characters of the text, and what takes their place."""

    start: int
    end: int
    new: str


Edits = tuple[Edit, ...]


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text after the edits, none of which touches what another one changes."""
    parts = []
    place = 0
    for edit in sorted(edits):
        assert place <= edit.start <= edit.end, "edits overlap"
        parts += [text[place : edit.start], edit.new]
        place = edit.end
    return "".join([*parts, text[place:]])


def moved(offset: int, edits: Sequence[Edit]) -> int:
    """Where a character of the text is found after the edits."""
    return offset + sum(
        len(edit.new) - (edit.end - edit.start) for edit in edits if edit.end <= offset
    )
