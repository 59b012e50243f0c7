"""F-strings as Python writes them since 3.12, for an older Python to read.

`f"{row["loss"]}"` has its own quotes inside of its braces. There, `row['loss']` is the same, and as
long: every place in the text stays where it was. All else that is new in them is left as it is.
"""

from __future__ import annotations

import re

from gradledger.static import budget

_OPENS = re.compile(
    r"""#[^\n]*|(?<!\w)(?:[rbuf]|[rb][rbf]|[bf]r)?("{3}|'{3}|["'])""", re.IGNORECASE
)
_STRING = re.compile(
    r"""#[^\n]*|(?P<prefix>\b[a-z]{1,2})?(?P<body>"{3}(?:[^"\\]|\\.|"(?!""))*"{3}|'{3}(?:[^'\\]|\\.|'(?!''))*'{3}"""
    r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')""",
    re.IGNORECASE | re.DOTALL,
)
_OTHER = {'"': "'", "'": '"'}


class _GivesUp(Exception):
    """There is something in it that other quotes do not cure."""


def take_too_long(text: str) -> bool:
    """Whether the f-strings are too long for a Python before 3.12.

    To find where a brace stands, it reads the whole string again, for each of them.
    """
    work = 0
    for string in _STRING.finditer(text):
        if "f" in (string["prefix"] or "").lower():
            work += string["body"].count("{") * len(string["body"])
    return work > budget.MOST_FORMATTING


def requoted(text: str) -> str | None:
    """The same program with other quotes inside of braces; None where that cannot be done."""
    changed = list(text)
    place = 0
    try:
        while opens := _OPENS.search(text, place):
            place = opens.end()
            if opens[1] is not None:
                place = _end(text, place, opens, changed)
    except (_GivesUp, IndexError):
        return None
    return "".join(changed)


def _end(text: str, place: int, opens: re.Match[str], changed: list[str]) -> int:
    """Where the string ends that begins here; what stands in its braces has other quotes then."""
    quote, formatted = opens[1], "f" in opens[0].lower()
    while not text.startswith(quote, place):
        letter = text[place]
        if letter == "\n" and len(quote) == 1:
            raise _GivesUp
        if letter == "\\":
            place += 2
        elif formatted and letter == "{":
            twice = text[place + 1] == "{"
            place = place + 2 if twice else _behind_braces(text, place + 1, quote, changed)
        else:
            place += 1
    return place + len(quote)


def _behind_braces(text: str, place: int, quote: str, changed: list[str]) -> int:
    """Where the braces close that have opened in front of this place."""
    depth = 1
    while depth:
        letter = text[place]
        opens = _OPENS.match(text, place)
        if letter in "\n\\#":
            raise _GivesUp
        if letter == ":" and depth == 1:
            return _behind_format(text, place + 1, quote)
        if opens is not None:
            place = _inner(text, opens, quote, changed)
            continue
        depth += (letter in "([{") - (letter in ")]}")
        place += 1
    return place


def _behind_format(text: str, place: int, quote: str) -> int:
    """The same from the `:` on, where only simple formats are read: `{loss:.3f}`."""
    while (letter := text[place]) != "}":
        if letter in "{\n\\" or text.startswith(quote, place):
            raise _GivesUp
        place += 1
    return place + 1


def _inner(text: str, opens: re.Match[str], around: str, changed: list[str]) -> int:
    """The end of a string inside of braces, which gets other quotes if it has those around it."""
    quote, begins = opens[1], opens.end()
    ends = text.find(quote, begins)
    inside = text[begins:ends]
    if ends < 0 or len(quote) > 1 or "f" in opens[0].lower() or re.search(r"[\\\n]", inside):
        raise _GivesUp
    if quote == around:
        other = _OTHER[quote]
        if other in inside:
            raise _GivesUp
        changed[begins - 1] = changed[ends] = other
    return ends + 1
