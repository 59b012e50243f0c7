"""Patterns of words, and on which lines of a file they stand.

There are many patterns, and to ask one costs little. A small file asks few, so each is compiled
when it is first asked, and `re` is loaded with the first: to load it takes longer than to check ten
plain lines, which ask none. A large one asks the same about all of its text, where to look for a
word takes a hundredth of the time that a pattern does; and what stands where is found once, however
many functions ask.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate

from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator
    from typing import Any


class Pattern:
    """As one of `re.compile`. `words`: every match is on one line, and has one of them in it.

    `surely`: where one of these stands, it matches.
    """

    search: Callable[[str], re.Match[str] | None]
    match: Callable[[str], re.Match[str] | None]
    split: Callable[[str], list[str]]
    findall: Callable[[str], list[Any]]
    finditer: Callable[[str], Iterator[re.Match[str]]]
    sub: Callable[[str, str], str]
    is_words: bool
    """It matches its words, and nothing else: where one stands, there is nothing left to ask."""

    def __init__(
        self, text: str, *, words: tuple[str, ...] = (), surely: tuple[str, ...] = ()
    ) -> None:
        self.pattern = text
        self.words = words
        self.surely = surely

    def __getattr__(self, name: str) -> Any:
        if name == "is_words":
            found = self.pattern == "|".join(map(literal, self.words))
        else:
            import re

            found = getattr(re.compile(self.pattern), name)
        setattr(self, name, found)  # the next one who asks comes here no more
        return found

    def is_on(self, line: str) -> bool:
        """Does it match on this line, where one of its words stands?"""
        if self.is_words:
            return True
        for word in self.surely:
            if word in line:
                return True
        return self.search(line) is not None


def literal(text: str) -> str:
    """A pattern of this text, and of nothing else: what `re.escape` gives."""
    return text.translate(_ESCAPED)


_ESCAPED = {ord(sign): f"\\{sign}" for sign in "()[]{}?*+-|^$\\.&~# \t\n\r\v\f"}
"""The table of `re`, which is not loaded to see whether a pattern is made of words alone."""


_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"
"""Those of nearly all names: the rest is looked at one by one."""


def first_word(text: str) -> str:
    """The word that the text begins with, if it does: `\\w*`."""
    end = len(text) - len(text.lstrip(_LETTERS))
    while _is_letter(text[end : end + 1]):
        end += 1
    return text[:end]


def last_word(text: str) -> str:
    """The word that the text ends with, if it does."""
    start = len(text.rstrip(_LETTERS))
    while start and _is_letter(text[start - 1]):
        start -= 1
    return text[start:]


def _is_letter(sign: str) -> bool:
    """May it stand in a word, for patterns as for Python?"""
    return sign.isalnum() or sign == "_"


_CALLS_BACKWARDS = Pattern(r"\(\s*(\w+)(?:\.(\w+))?")
"""`owner.name(`, in a text that is read from its end: forwards, every word that is no call would
be tried at each of its letters, which takes fifteen times as long."""

Calls = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]
"""The names of what is called, and with its owner what is called as `owner.name(`."""


class Words:
    """What patterns match, by line. What comments say is not done."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._text = "\n".join(lines)
        self._starts: list[int] | None = None
        self._matched: dict[Pattern, list[int]] = {}
        self._having: dict[str, list[int]] = {}
        self._called: tuple[list[int], list[tuple[str, str]]] | None = None

    def match(self, pattern: Pattern, first: int, last: int) -> bool:
        """Does the pattern match on one of these lines?"""
        on = self._matched.get(pattern)
        if on is None:
            on = self._matched[pattern] = self._lines_with(pattern)
        place = bisect_left(on, first)
        return place < len(on) and on[place] <= last

    def _lines_with(self, pattern: Pattern) -> list[int]:
        if not pattern.words:
            return [self._line(match.start()) for match in pattern.finditer(self._text)]
        having = {line for word in pattern.words for line in self._lines_having(word)}
        return [line for line in sorted(having) if self._in_code(pattern, self._lines[line - 1])]

    def _in_code(self, pattern: Pattern, line: str) -> bool:
        return pattern.is_on(line) and not line.lstrip().startswith("#")

    def _lines_having(self, word: str) -> list[int]:
        known = self._having.get(word)
        if known is None:
            known = self._having[word] = [self._line(at) for at in _places(self._text, word)]
        return known

    def calls(self, first: int, last: int) -> Calls:
        """What is called on these lines, each once, in the order of the text."""
        if self._called is None:
            self._called = self._all_calls()
        on, called = self._called
        here = called[bisect_left(on, first) : bisect_right(on, last)]
        names = dict.fromkeys(name for name, _ in here)
        members = dict.fromkeys((owner, name) for name, owner in here if owner)
        return tuple(names), tuple(members)

    def _all_calls(self) -> tuple[list[int], list[tuple[str, str]]]:
        size = len(self._text)
        found = [
            (size - match.end(1), match[1][::-1], (match[2] or "")[::-1])
            for match in _CALLS_BACKWARDS.finditer(self._text[::-1])
        ][::-1]
        return [self._line(at) for at, _, _ in found], [(name, owner) for _, name, owner in found]

    def _line(self, at: int) -> int:
        if self._starts is None:
            self._starts = self._line_starts()
        return bisect_right(self._starts, at)

    def _line_starts(self) -> list[int]:
        return list(accumulate((len(line) + 1 for line in self._lines[:-1]), initial=0))


def without_docstrings(tree: ast.Module, lines: list[str]) -> list[str]:
    """The lines, empty where a docstring stands."""
    code = list(lines)
    left: list[ast.AST] = [tree]
    while left:
        body = getattr(left.pop(), "body", ())
        left += [node for node in body if isinstance(node, _DEFINITIONS)]
        match body:
            case [ast.Expr(ast.Constant(str())) as said, *_]:
                first, last = said.lineno, said.end_lineno or said.lineno
                before = lines[first - 1][: said.col_offset]
                after = body[1].lineno if len(body) > 1 else last + 1
                if not before.strip() and after > last:
                    code[first - 1 : last] = [""] * (last - first + 1)
    return code


_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.If | ast.Try


def says(text: str, pattern: Pattern) -> bool:
    """Does the pattern match on a line of code? Libraries show `backward()` in examples, too."""
    return any(True for _ in _said(text, pattern))


def does(text: str, pattern: Pattern) -> bool:
    """The same, of code alone: what a text or a comment in it tells about is not done."""
    said = sorted(_said(text, pattern))
    # The first look answers nearly all, and takes no pattern as large as the second one's.
    return any(_plainly_code(text, said)) or _any_in_code(text, said)


def _plainly_code(text: str, places: list[int]) -> Iterator[bool]:
    """For each place: is no quote open there, by their number, and no comment begun?

    The text is gone through once, however many places there are.
    """
    seen, doubles, singles = 0, 0, 0
    line_end, sign = -1, 0
    for at in places:
        doubles += text.count('"""', seen, at)
        singles += text.count("'''", seen, at)
        seen = at
        if at > line_end:
            start = text.rfind("\n", 0, at) + 1
            line_end = _end_of_line(text, at)
            signs = (text.find(each, start, line_end) for each in "'\"#")
            sign = min((found for found in signs if found >= 0), default=line_end)
        yield at <= sign and doubles % 2 == 0 and singles % 2 == 0


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _any_in_code(text: str, places: list[int]) -> bool:
    after = 0
    for no_code in _NO_CODE.finditer(text) if places else ():
        if places[after] < no_code.start():
            return True
        after = bisect_left(places, no_code.end())
        if after == len(places):
            return False
    return after < len(places)


_NO_CODE = Pattern(
    r"#[^\n]*"
    r'|"""[^"\\]*(?:(?:\\[\s\S]|"(?!""))[^"\\]*)*"""'
    r"|'''[^'\\]*(?:(?:\\[\s\S]|'(?!''))[^'\\]*)*'''"
    r'|"[^"\\\n]*(?:\\[\s\S][^"\\\n]*)*"'
    r"|'[^'\\\n]*(?:\\[\s\S][^'\\\n]*)*'"
)
"""Comments, and texts of all kinds of quotes."""


def _said(text: str, pattern: Pattern) -> Iterator[int]:
    """Where its words stand, on the lines on which the pattern matches."""
    for word in pattern.words:
        at = text.find(word)
        while at >= 0:
            # One look at a line, however often the word stands there.
            end = _end_of_line(text, at)
            line = text[text.rfind("\n", 0, at) + 1 : end]
            if not line.lstrip().startswith((">>>", "...", "#")) and pattern.is_on(line):
                while 0 <= at < end:
                    yield at
                    at = text.find(word, at + 1)
            else:
                at = text.find(word, end)


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


LINE_ENDS = Pattern(r"\r\n|\r|\n")
"""As Python counts lines."""


def lines_of(text: str) -> list[str]:
    """The lines of a text, without their ends."""
    return LINE_ENDS.split(text) if "\r" in text else text.split("\n")
