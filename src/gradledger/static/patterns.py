"""Patterns of words. There are many of them, and to ask one costs little.

A small file asks few, so each is compiled when it is first asked. A large one asks the same about
all of its text, where to look for a word takes a hundredth of the time that a pattern does.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


class Pattern:
    """As one of `re.compile`. `words`: every match is on one line, and has one of them in it."""

    search: Callable[[str], re.Match[str] | None]
    match: Callable[[str], re.Match[str] | None]
    split: Callable[[str], list[str]]
    findall: Callable[[str], list[Any]]
    finditer: Callable[[str], Iterator[re.Match[str]]]

    def __init__(self, text: str, flags: int = 0, *, words: tuple[str, ...] = ()) -> None:
        self.pattern = text
        self.flags = flags
        self.words = words

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, found)  # the next one who asks comes here no more
        return found
