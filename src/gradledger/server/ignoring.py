"""The edit that tells to ignore a finding: a comment, to which its writer adds a reason."""

from __future__ import annotations

import re
from io import StringIO
from tokenize import NEWLINE, TokenError, generate_tokens
from typing import NamedTuple

from gradledger.report.sources import LINE_BREAK
from gradledger.static.source.suppression import IgnoreComments

REASON = "reason"
_OURS = re.compile(r"#\s*gradledger:\s*ignore\[(?P<rules>[^\]]*)(?=\])")


class Insertion(NamedTuple):
    """Text that is put into a line, before a letter of it. Lines from 1, letters from 0."""

    line: int
    column: int
    text: str
    asks: bool
    """It ends with a reason that is for the person to write."""


def ignore(text: str, rule: str, line: int) -> Insertion | None:
    """At the end of the statement at a line; None where a comment can't stand there."""
    lines = LINE_BREAK.split(text)
    end = _end_of_statement(text, line)
    if end is None or end > len(lines):
        return None
    row = lines[end - 1].rstrip()
    known = _OURS.search(row)
    if known is not None:
        made = Insertion(end, known.end("rules"), f", {rule}", False)
    else:
        made = Insertion(end, len(row), f"  # gradledger: ignore[{rule}] {REASON}", True)
    lines[end - 1] = row[: made.column] + made.text + row[made.column :]
    heard = IgnoreComments("\n".join(lines)).of(rule, line)
    return made if heard is not None else None


def _end_of_statement(text: str, line: int) -> int | None:
    """The last line of the statement, or of a loop's head, that a line belongs to."""
    try:
        for token in generate_tokens(StringIO("\n".join(LINE_BREAK.split(text))).readline):
            if token.type == NEWLINE and token.start[0] >= line:
                return token.start[0]
    except (TokenError, SyntaxError):
        pass
    return None
