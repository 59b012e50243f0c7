"""Which functions and classes of a file mention something, by a look at its bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

_DEFINED = (b"class ", b"def ", b"async def ")


def defining(data: bytes, words: Iterable[bytes]) -> tuple[str, ...]:
    """The names at the top level of what has one of these words in it.

    Too many answers cost time, too few are never looked for.
    """
    words = tuple(words)
    names = (name for name, block in _blocks(data) if any(word in block for word in words))
    return tuple(dict.fromkeys(name.decode("utf-8", "replace") for name in names))


def _blocks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Each function and class of the top level, up to where the next one begins."""
    starts = sorted(at for word in _DEFINED for at in _line_starts(data, word))
    for start, end in pairwise([*starts, len(data)]):
        block = data[start:end]
        head = block.partition(b"\n")[0].replace(b"(", b" ").replace(b":", b" ").split()
        at = 2 if head[0] == b"async" else 1
        if len(head) > at:
            yield head[at], block


def _line_starts(data: bytes, word: bytes) -> Iterator[int]:
    if data.startswith(word):
        yield 0
    at = data.find(b"\n" + word)
    while at >= 0:
        yield at + 1
        at = data.find(b"\n" + word, at + 1)
