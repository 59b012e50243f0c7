"""The seal at the end of a checkpoint, and the header at the start of its content."""

from __future__ import annotations

import zlib
from typing import BinaryIO

FORMAT = "gradledger checkpoint"
VERSION = 1
HEADER = ("format", "version", "gradledger", "torch")
SEAL = b"\ngradledger seal "


def seal(length: int, checksum: int) -> bytes:
    """What stands behind so many bytes."""
    return SEAL + f"{length:016x} {checksum:08x}\n".encode()


def checksum_of(file: BinaryIO, length: int) -> int:
    """Of the first bytes of a file."""
    # A digest costs two to four times as much, and would protect against malice: this is damage.
    file.seek(0)
    checksum = 0
    while length > 0 and (chunk := file.read(min(length, 1 << 20))):
        checksum = zlib.crc32(chunk, checksum)
        length -= len(chunk)
    return checksum


def reason(error: Exception) -> str:
    """What the system says of it."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
