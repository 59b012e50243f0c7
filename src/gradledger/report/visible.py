"""Makes text safe to print: control characters become visible ones. Also measures its width.

Source lines, paths and parameter names come from others: an escape sequence in one of them could
hide a finding or rewrite the screen.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import TextIO

TAB = 4

# Compiled when first needed: most text is harmless, and compiling this takes long.
_OBEYED = (
    "[\x00-\x1f\x7f-\x9f"  # control characters
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # they change the direction of text
    "\u2028\u2029"  # line breaks for some programs, not for others
    "\ud800-\udfff]"  # lone surrogates: file names that aren't UTF-8
)
_UNKNOWN = "\ufffd"


def visible(text: str) -> str:
    """The same number of characters, with a symbol for each control character."""
    if text.isprintable():
        return text
    import re  # loading it (with enum) takes longer than most reports

    return re.sub(_OBEYED, _picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else _UNKNOWN


def columns(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    def width(letter: str) -> int:
        if category(letter) in ("Mn", "Me", "Cf"):
            return 0
        return 2 if east_asian_width(letter) in ("W", "F") else 1

    return sum(map(width, text))


def cut(text: str, most: int) -> str:
    """The text, or as much of its start as fits in that many columns, with an ellipsis."""
    if columns(text) <= most:
        return text
    kept = text[: most - 1]
    while columns(kept) > most - 1:
        kept = kept[:-1]
    return kept.rstrip() + "…"


def put(text: str, stream: TextIO) -> None:
    """Prints a line. A character that the stream's encoding lacks becomes a question mark."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    # Not `stream.reconfigure`: it may be the standard output of a script that is being audited.
    print(text.encode(encoding, "replace").decode(encoding), file=stream)
