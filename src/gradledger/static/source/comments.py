"""The comments of a program, each with the code that it stands beside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Comment(NamedTuple):
    """A comment, and the lines that something said in it is about."""

    text: str
    line: int
    first: int
    last: int
    """Of the statement that it stands in, or of the whole loop where that is a loop's head.

    A comment on a line of its own stands in no statement, and is about that line alone.
    """


class _Open:
    """A comment whose end is not reached yet."""

    def __init__(self, text: str, line: int, first: int) -> None:
        self.text, self.line, self.first, self.last = text, line, first, line

    def closed(self) -> Comment:
        return Comment(self.text, self.line, self.first, self.last)


def comments(text: str) -> Iterator[Comment]:
    """All comments, in reading order; what looks like one inside of a string is none.

    Where the text is no Python from some line on, the comments before it.
    """
    found: list[_Open] = []
    reading = _Reading(found)
    for kind, word, line in _tokens(text):
        reading.take(kind, word, line)
    reading.end()
    for comment in found:
        yield comment.closed()


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    """Kind, text and line of each token."""
    from io import StringIO
    from tokenize import TokenError, generate_tokens, tok_name

    try:
        for token in generate_tokens(StringIO(text).readline):
            yield tok_name[token.type], token.string, token.start[0]
    except (TokenError, SyntaxError):
        return


class _Reading:
    """Follows statements and blocks by their tokens: that needs no tree, nor that there is one."""

    def __init__(self, found: list[_Open]) -> None:
        self._found = found
        self._words: list[str] = []
        """The first of the statement."""
        self._start = 0
        self._here: list[_Open] = []
        """Comments in the statement."""
        self._blocks: list[list[_Open]] = []
        """For each block that is open, the comments in the loop's head above it."""
        self._head: list[_Open] = []
        self._ended = 0
        """The last line of the last statement."""

    def take(self, kind: str, word: str, line: int) -> None:
        if kind == "COMMENT":
            comment = _Open(word, line, self._start if self._words else line)
            self._found.append(comment)
            self._here += [comment] * bool(self._words)
        elif kind == "NEWLINE":
            self._end_statement(line)
        elif kind == "INDENT":
            self._blocks.append(self._head)
        elif kind == "DEDENT":
            self._close_block()
        elif kind not in ("NL", "ENDMARKER"):
            if not self._words:
                self._start = line
            if len(self._words) < 2:
                self._words.append(word)

    def end(self) -> None:
        """Nothing more comes."""
        while self._blocks:
            self._close_block()

    def _end_statement(self, line: int) -> None:
        for comment in self._here:
            comment.last = line
        loop = self._words[:1] in (["for"], ["while"]) or self._words == ["async", "for"]
        self._head = self._here if loop else []
        self._words, self._here, self._ended = [], [], line

    def _close_block(self) -> None:
        for comment in self._blocks.pop():
            comment.last = max(comment.last, self._ended)
