"""Numbers that repeat, written once.

Training goes round and round: a million turns follow a handful of patterns, in an order that
repeats with the epochs. A packed list holds numbers as they are, and, where what follows was there
before, two that say so: how far back (negative) and how many to copy from there.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

SEED = 4
"""So many numbers in a row have to be known before it is worth to look for more of them."""


def packed(numbers: Sequence[int]) -> list[int]:
    """The numbers, none of them negative, with what repeats replaced by references to it."""
    values = array("L", numbers)
    raw, size = values.tobytes(), values.itemsize
    first: dict[bytes, int] = {}
    latest: dict[bytes, int] = {}
    out: list[int] = []
    at, total = 0, len(values)
    while at < total:
        seed = raw[at * size : (at + SEED) * size]
        known = {first.get(seed), latest.get(seed)} if at + SEED <= total else set()
        if at and values[at] == values[at - 1]:  # a run of one number is known from the second on
            known.add(at - 1)
        ways = [(_alike(raw, size, b, at, total), b) for b in known if b is not None]
        length, before = max(ways, default=(0, 0))
        latest[seed] = at
        first.setdefault(seed, at)
        if length >= SEED:
            out += (before - at, length)
            at += length
        else:
            out.append(values[at])
            at += 1
    return out


def unpacked(numbers: Sequence[int]) -> list[int]:
    """What was packed."""
    out: list[int] = []
    rest = iter(numbers)
    for number in rest:
        if number >= 0:
            out.append(number)
            continue
        start = len(out) + number
        for offset in range(next(rest)):  # it may reach into what it copies
            out.append(out[start + offset])
    return out


def _alike(raw: bytes, size: int, before: int, at: int, total: int) -> int:
    """How many numbers are the same from both places on; bytes are compared in growing pieces."""
    length, piece = 0, 64
    while at + length < total:
        piece = min(piece, total - at - length)
        one = raw[(before + length) * size : (before + length + piece) * size]
        other = raw[(at + length) * size : (at + length + piece) * size]
        if one == other:
            length += piece
            piece *= 2
        elif piece == 1:
            break
        else:
            piece = max(piece // 4, 1)
    return length
