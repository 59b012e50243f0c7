"""Finds what a person describes: a message inside a traceback, or a symptom in their own words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import log

from gradledger.why.entry import Entry

MOST = 3
"""The most symptoms that are shown at once. If more fit equally well, the words are too vague."""
ENOUGH = 0.34
"""The part of a description that has to be known, by the weight of its words."""
NEARLY = 0.75
"""How near another match has to come to the best one to be shown with it."""
SHORTEST_MISSPELLING, SIMILAR = 5, 0.85
"""How long a misspelt word has to be to be recognized, and how similar to a known one."""
MOST_LINES, MOST_CHARACTERS = 20, 2_000
"""A longer text is a log, whose words describe no symptom."""
GAP = "…"
"""In a message: stands for a few characters that differ from case to case."""

_FILLERS = (
    " a again all also always am an and are as at be been before but by can cannot cant code did "
    "didnt do does doesnt dont even every fix for from get gets getting give gives go goes got has "
    "have havent help how i if im in is isnt it its just keeps me my need no not of on or our "
    "please pytorch run should some than that the then there this to too torch train very was "
    "wasnt what when where which while why will with wont you your after "
)
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_RAISED = re.compile(r"^\W*(?:\[\w+\]:?\s*)?[A-Za-z_][\w.]*(?:Error|Exception|Warning)\b.*$", re.M)


def matches(text: str, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries that fit, the best first; none where nothing does."""
    text = _ESCAPES.sub("", text)
    found = _by_message(text, entries)
    if found:
        return found
    raised = _RAISED.findall(text)
    # Of a traceback, only what was raised says something; the rest is the user's code.
    words = raised[-1] if raised else text
    is_log = words.count("\n") > MOST_LINES or len(words) > MOST_CHARACTERS
    return () if is_log else _by_words(words, tuple(entries))


def says(message: str, text: str) -> bool:
    """True if the text has the message."""
    return _last(message, _on_one_line(text)) >= 0


def _by_message(text: str, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Those whose message is in the text. In a traceback, the last one is what was raised."""
    line = _on_one_line(text)
    places = [max((_last(one, line) for one in entry.messages), default=-1) for entry in entries]
    found = [(-place, entry) for place, entry in zip(places, entries, strict=True) if place >= 0]
    return tuple(entry for _, entry in sorted(found, key=lambda pair: pair[0]))


def _on_one_line(text: str) -> str:
    return " ".join(text.split()).lower()


def _last(message: str, line: str) -> int:
    """Where the line has the message the last time; -1 if it doesn't."""
    first, gap, rest = message.lower().partition(GAP)
    if not gap:
        return line.rfind(first)
    pattern = re.compile(f"{re.escape(first)}.{{0,60}}?{re.escape(rest)}")
    return max((found.start() for found in pattern.finditer(line)), default=-1)


def _by_words(text: str, entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    given = set(_stems(text))
    if not given:
        return ()
    known, weights = _vocabulary(entries)
    given = {_as_spelt(word, weights) for word in given}
    unknown = max(weights.values())
    total = sum(weights.get(word, unknown) for word in given)
    scored = []
    for entry, (title, words) in zip(entries, known, strict=True):
        # A word of the title says more than one of the other ways to put it.
        score = sum(weights[word] * (1.25 if word in title else 1) for word in given & words)
        scored.append((score / total, entry))
    best = max(score for score, _ in scored)
    if best < ENOUGH:
        return ()
    near = [(score, entry) for score, entry in scored if score >= best * NEARLY]
    if sum(score == best for score, _ in near) > MOST:
        return ()
    return tuple(entry for _, entry in sorted(near, key=lambda pair: -pair[0]))[:MOST]


@lru_cache(maxsize=2)
def _vocabulary(
    entries: tuple[Entry, ...],
) -> tuple[tuple[tuple[frozenset[str], frozenset[str]], ...], dict[str, float]]:
    """The words of each entry's title and of all of it, and how much each word tells."""
    known = tuple(
        (
            frozenset(_stems(entry.title)),
            frozenset(_stems(" ".join((entry.name, entry.title, *entry.words)))),
        )
        for entry in entries
    )
    among = [words for _, words in known]
    weights = {
        word: log(1 + len(among) / sum(word in words for words in among))
        for word in frozenset().union(*among)
    }
    return known, weights


def _as_spelt(word: str, weights: Mapping[str, float]) -> str:
    """The known word that a misspelt one is meant to be, or the word itself."""
    if word in weights or len(word) < SHORTEST_MISSPELLING:
        return word
    from difflib import get_close_matches  # only for unknown words: it takes time to load

    return next(iter(get_close_matches(word, weights, n=1, cutoff=SIMILAR)), word)


def _stems(text: str) -> list[str]:
    """The words that tell something, without their endings."""
    text = text.lower().replace("'", "").replace("\u2019", "").replace("-", " ")
    text = text.replace("zero grad", "zero_grad").replace("clip grad", "clip_grad")
    words = (word.strip("_") for word in re.findall(r"[a-z0-9_]+", text))
    words = ("zero" if word == "0" else word for word in words)
    return [_stem(word) for word in words if word[:1].isalpha() and f" {word} " not in _FILLERS]


_ENDINGS = ("ations", "ation", "ating", "ates", "ated", "ings", "ing", "ies", "es", "ed", "s")


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word[:-1] if word.endswith("e") and len(word) > 4 else word
