"""Comments that tell to ignore findings: `# gradledger: ignore[GL203] the reason`.

On a line of the finding's statement, or in the head of a loop around it; with `ignore-file`,
anywhere in the file. Without rules in brackets, all rules are meant.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from gradledger.errors import UnknownRuleError
from gradledger.rules.selection import codes
from gradledger.static import budget
from gradledger.static.source.comments import Comment, comments

MARK = "gradledger:"
"""A text without it has nothing for us, and is not taken apart."""

_WORDS = ("ignore", "ignore-file")
_COMMENT = re.compile(r"#\s*gradledger:\s*(?P<word>[\w-]+)(?P<rest>.*)", re.DOTALL)
_REST = re.compile(r"\s*(?:\[(?P<rules>[^\]]*)(?P<closed>\])?)?(?P<reason>.*)", re.DOTALL)


class Ignore(NamedTuple):
    """What a comment tells to ignore, and where."""

    line: int
    first: int
    last: int
    rules: frozenset[str] | None
    """None: all of them."""
    reason: str
    whole_file: bool

    def covers(self, rule: str, line: int) -> bool:
        """Is a finding of the rule, at that line, meant?"""
        here = self.whole_file or self.first <= line <= self.last
        return here and (self.rules is None or rule in self.rules)

    @property
    def reach(self) -> tuple[bool, int]:
        """How far it reaches, to put the nearest first."""
        return self.whole_file, self.last - self.first


class Mistake(NamedTuple):
    """A comment that does not say what its writer meant."""

    line: int
    message: str


class IgnoreComments:
    """All such comments of a text, and which of them were of use."""

    def __init__(self, text: str) -> None:
        self.mistakes: list[Mistake] = []
        found = comments(text) if MARK in text else ()
        read = (ignore for comment in found for ignore in self._read(comment))
        self._ignores = sorted(read, key=lambda ignore: ignore.reach)
        self._used: set[Ignore] = set()

    def of(self, rule: str, line: int) -> Ignore | None:
        """The nearest comment that tells to ignore a finding of the rule at that line."""
        for ignore in self._ignores:
            if ignore.covers(rule, line):
                self._used.add(ignore)
                return ignore
        return None

    def unused(self, kept: Collection[str]) -> list[Ignore]:
        """Those that ignored nothing, though a rule that they name is among those asked about."""
        left = (ignore for ignore in self._ignores if ignore not in self._used)
        asked = (one for one in left if one.rules is None or not one.rules.isdisjoint(kept))
        return sorted(asked, key=lambda ignore: ignore.line)

    def _read(self, comment: Comment) -> Iterator[Ignore]:
        said = _COMMENT.search(comment.text)
        if said is None:
            return
        if said["word"] not in _WORDS:
            self._misspelt(said["word"], comment.line)
            return
        rest = _REST.fullmatch(said["rest"])
        assert rest is not None
        rules = self._rules(rest, comment.line)
        if rules is None or rules:
            reason, whole_file = rest["reason"].strip(" \t:-"), said["word"] == "ignore-file"
            yield Ignore(comment.line, comment.first, comment.last, rules, reason, whole_file)

    def _rules(self, rest: re.Match[str], line: int) -> frozenset[str] | None:
        """The rules in the brackets; None without brackets, and none where they make no sense."""
        listed = rest["rules"]
        if listed is None:
            return None
        if not rest["closed"]:
            self.mistakes.append(
                Mistake(line, "the bracket after `ignore` is never closed, so nothing is ignored")
            )
            return frozenset()
        words = [word for word in listed.split(",") if word.strip()]
        if not words:
            said = "`ignore[]` names no rule. Name one, or leave out the brackets to ignore all"
            self.mistakes.append(Mistake(line, said))
        found: set[str] = set()
        for word in words:
            if len(self.mistakes) == budget.MOST_MISTAKES:
                break
            try:
                found |= codes(select=[word])
            except UnknownRuleError as error:
                self.mistakes.append(Mistake(line, str(error)))
        return frozenset(found)

    def _misspelt(self, word: str, line: int) -> None:
        if len(self.mistakes) == budget.MOST_MISTAKES or len(word) > budget.LONGEST_MISSPELLING:
            return
        from difflib import get_close_matches  # only for mistakes: it costs some time to load

        # Far from our words, it is prose that happens to begin with our name.
        if near := get_close_matches(word.lower(), _WORDS, n=1):
            said = f"`{word}` ignores nothing. Did you mean `{near[0]}`?"
            self.mistakes.append(Mistake(line, said))
