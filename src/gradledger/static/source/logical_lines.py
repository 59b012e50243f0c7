"""Where statements begin, in text that need not be Python throughout."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"#.*|\"\"\"|'''|\"(?:\\.|[^\"\\])*\"?|'(?:\\.|[^'\\])*'?|[()\[\]{}]")
_END = {quote: re.compile(rf"(?:\\.|[^\\])*?{quote}", re.DOTALL) for quote in ('"""', "'''")}


class Reader:
    """Is fed line by line; knows whether the next line begins a statement."""

    def __init__(self) -> None:
        self._depth = 0
        self._quote: str | None = None
        self._joined = False

    @property
    def at_start(self) -> bool:
        """Whether the next line is outside brackets, texts and continued lines."""
        return self._depth == 0 and self._quote is None and not self._joined

    def feed(self, line: str) -> None:
        """Goes on behind this line, which comes without its end."""
        place = 0
        commented = False
        while place < len(line):
            if self._quote is not None:
                end = _END[self._quote].match(line, place)
                if end is None:
                    break
                place, self._quote = end.end(), None
                continue
            token = _TOKEN.search(line, place)
            if token is None:
                break
            place = token.end()
            commented = token[0].startswith("#")
            if token[0] in _END:
                self._quote = token[0]
            elif token[0] in "([{":
                self._depth += 1
            elif token[0] in ")]}":
                self._depth = max(0, self._depth - 1)
        self._joined = self._quote is None and not commented and line.endswith("\\")
