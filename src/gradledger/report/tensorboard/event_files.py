"""TensorBoard's event files: protobuf messages, each with its length and two checksums.

Only what scalars need, of `Event`, `Summary` and `Summary.Value` in tensorflow's event.proto and
summary.proto, and the framing of a TFRecord.
"""

from __future__ import annotations

import math
import struct
import sys
from array import array
from collections.abc import Iterable
from functools import cache
from typing import BinaryIO

_CASTAGNOLI = 0x82F63B78
_LARGEST = 3.4028234663852886e38
"""More is infinite in the four bytes of a scalar."""


class EventFile:
    """Writes events one after the other."""

    def __init__(self, stream: BinaryIO, started_at: float) -> None:
        self._stream = stream
        self._record(_wall_time(started_at) + _bytes(3, b"brain.Event:2"))

    def scalars(self, step: int, wall_time: float, scalars: Iterable[bytes]) -> None:
        """Values of one step; `scalar` makes them."""
        summary = _bytes(5, b"".join(scalars))
        self._record(_wall_time(wall_time) + _varint(2 << 3) + _varint(step) + summary)

    def _record(self, message: bytes) -> None:
        length = struct.pack("<Q", len(message))
        sums = struct.pack("<I", _masked(length)), struct.pack("<I", _masked(message))
        self._stream.write(b"".join((length, sums[0], message, sums[1])))


def scalar(tag: str, value: float) -> bytes:
    """A number under a name."""
    if abs(value) > _LARGEST:
        value = math.copysign(math.inf, value)
    return _tagged(tag) + struct.pack("<f", value)


@cache
def _tagged(tag: str) -> bytes:
    """All of a value but its last four bytes: tags are the same in every step."""
    message = _bytes(1, tag.encode("utf-8", "replace")) + _varint(2 << 3 | 5)
    return _varint(1 << 3 | 2) + _varint(len(message) + 4) + message


def _wall_time(seconds: float) -> bytes:
    return _varint(1 << 3 | 1) + struct.pack("<d", seconds)


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


# CRC-32C ------------------------------------------------------------------------------------


def crc32c(data: bytes) -> int:
    """Castagnoli's checksum. Two bytes at a time, which is twice as fast."""
    table = _of_pairs()
    pairs = array("H", data[: len(data) & ~1])
    if sys.byteorder == "big":
        pairs.byteswap()
    crc = 0xFFFFFFFF
    for pair in pairs:
        crc = table[(crc ^ pair) & 0xFFFF] ^ (crc >> 16)
    if len(data) & 1:
        crc = _shifted((crc ^ data[-1]) & 0xFF, bits=8) ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _masked(data: bytes) -> int:
    """Turned and shifted, as TFRecords have it: a checksum of checksums would be weak."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@cache
def _of_pairs() -> array[int]:
    single = [_shifted(byte, bits=8) for byte in range(256)]
    pairs = array("L")
    for high in range(256):
        for low in range(256):
            first = single[low]
            pairs.append(single[(first ^ high) & 0xFF] ^ (first >> 8))
    return pairs


def _shifted(crc: int, *, bits: int) -> int:
    for _ in range(bits):
        crc = crc >> 1 ^ (_CASTAGNOLI if crc & 1 else 0)
    return crc
