"""Edits of files, for programs that can apply them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import NamedTuple

from gradledger.ledger.places import Place

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class Replacement(NamedTuple):
    """Whole lines of a file and their replacement; `end` is the first line that stays."""

    line: int
    end: int
    text: str


Cures = Mapping[tuple[str, Place], tuple[Replacement, ...]]
"""For a rule that is broken at a place: the edits of that file that are certain to fix it."""


def replacements(before: str, after: str) -> Iterator[Replacement]:
    """The replacements that turn one text into the other; lines count from 1."""
    old, new = _LINE.findall(before), _LINE.findall(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for kind, first, last, start, end in matcher.get_opcodes():
        if kind != "equal":
            yield Replacement(first + 1, last + 1, "".join(new[start:end]))
