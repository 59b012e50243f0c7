"""Which rules are asked about: the words that people use for them on a command line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradledger.rules.catalogue import CODES, coded, find
from gradledger.rules.rule import Rule


def choose(word: str) -> Sequence[Rule]:
    """The rules that a word means: one, or all whose code starts so."""
    digits = word.strip().lower().removeprefix("gl")
    start = f"GL{digits}" if digits.isdecimal() else ""
    return [coded(code) for code in CODES if start and code.startswith(start)] or [find(word)]


def codes(*, select: Iterable[str] = (), ignore: Iterable[str] = ()) -> frozenset[str]:
    """The codes of the selected rules, of all where none is, without those to ignore.

    Each text is a list with commas: `GL1,window-left-over`. Raises UnknownRuleError for a word
    that means no rule.
    """
    selected = _codes(select) or {*CODES}
    return frozenset(selected - _codes(ignore))


def _codes(lists: Iterable[str]) -> set[str]:
    words = (word for words in lists for word in words.split(",") if word.strip())
    return {rule.code for word in words for rule in choose(word)}
