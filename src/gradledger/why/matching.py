"""Finds what a person describes: a message inside a traceback, or a symptom in their own words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from math import log

from gradledger.why.entry import Entry

MOST = 3
"""How many symptoms are shown at once."""
ENOUGH = 0.34
"""The part of a description that has to be known, by the weight of its words."""
NEARLY = 0.75
"""How near another match has to come to the best one to be shown with it."""

_FILLERS = (
    " a an and are at be but by do does for from get has have i if in is it its my no not of on or "
    "that the then there this to too very was what when why with after "
)


def matches(text: str, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries that fit, the best first; none where nothing does."""
    return _by_message(text, entries) or _by_words(text, tuple(entries))


def _by_message(text: str, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Those whose message is in the text. In a traceback, the last one is what was raised."""
    plain = " ".join(text.split()).lower()
    found = []
    for entry in entries:
        where = max((plain.rfind(message.lower()) for message in entry.messages), default=-1)
        if where >= 0:
            found.append((-where, entry))
    return tuple(entry for _, entry in sorted(found, key=lambda pair: pair[0]))


def _by_words(text: str, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    asked = set(_stems(text))
    if not asked:
        return ()
    known, weights = _vocabulary(entries)
    unknown = max(weights.values())
    total = sum(weights.get(word, unknown) for word in asked)
    scored = []
    for entry, (title, words) in zip(entries, known, strict=True):
        # A word of the title says more than one of the other ways to put it.
        score = sum(weights[word] * (1.25 if word in title else 1) for word in asked & words)
        scored.append((score / total, entry))
    best = max(score for score, _ in scored)
    if best < ENOUGH:
        return ()
    near = [(score, entry) for score, entry in scored if score >= best * NEARLY]
    return tuple(entry for _, entry in sorted(near, key=lambda pair: -pair[0]))[:MOST]


@lru_cache(maxsize=2)
def _vocabulary(
    entries: tuple[Entry, ...],
) -> tuple[tuple[tuple[frozenset[str], frozenset[str]], ...], dict[str, float]]:
    """The words of each entry's title and of all of it, and how much each word tells."""
    known = tuple(
        (
            frozenset(_stems(entry.title)),
            frozenset(_stems(" ".join((entry.name, entry.title, *entry.messages, *entry.words)))),
        )
        for entry in entries
    )
    among = [words for _, words in known]
    weights = {
        word: log(1 + len(among) / sum(word in words for words in among))
        for word in frozenset().union(*among)
    }
    return known, weights


def _stems(text: str) -> list[str]:
    """The words that tell something, without their endings."""
    words = re.findall(r"[a-z0-9_]+", text.lower().replace("-", " "))
    return [_stem(word) for word in words if f" {word} " not in _FILLERS]


_ENDINGS = ("ations", "ation", "ating", "ates", "ated", "ings", "ing", "ies", "es", "ed", "s")


def _stem(word: str) -> str:
    for ending in (
        "ations",
        "ation",
        "ating",
        "ates",
        "ated",
        "ings",
        "ing",
        "ies",
        "es",
        "ed",
        "s",
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word[:-1] if word.endswith("e") and len(word) > 4 else word
