"""Temporary files, and what is left of them when their writer is killed.

A writer holds a lock on its temporary file. The kernel takes it back from the killed, which a
process id can't show: there are other containers, and numbers are given out again. Locks may not
reach across machines, hence the host in the name.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import secrets
import sys
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl


def _temporary_prefix(target: str) -> str:
    name = hashlib.blake2b(os.fsencode(os.path.basename(target)), digest_size=8).hexdigest()
    host = re.sub(r"[^A-Za-z0-9.]", "_", platform.node())[:64]
    return f".gradledger-{name}-{host}-"


def open_temporary(target: str, permissions: int) -> tuple[str, BinaryIO]:
    """A new file next to the target, open and locked."""
    while True:
        unique = f"{_temporary_prefix(target)}{os.getpid()}-{secrets.token_hex(8)}.tmp"
        temporary = os.path.join(os.path.dirname(target), unique)
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0)
        file = os.fdopen(os.open(temporary, flags, permissions), "wb")
        with contextlib.suppress(OSError):  # no locks here: then left-overs stay, which is safe
            _lock(file.fileno(), wait=True)
        if os.fstat(file.fileno()).st_nlink:
            return temporary, file
        file.close()  # someone took it for a left-over before it was locked


def remove_left_overs(target: str) -> None:
    """Remove what killed writers left, before writing: it may be what fills the disk."""
    directory, prefix = os.path.dirname(target), _temporary_prefix(target)
    for name in os.listdir(directory):
        if name.startswith(prefix) and name.endswith(".tmp"):
            with contextlib.suppress(OSError):  # another writer's, or another user's
                left = os.open(os.path.join(directory, name), os.O_RDWR)
                try:
                    _lock(left, wait=False)
                    os.unlink(os.path.join(directory, name))
                finally:
                    os.close(left)


def _lock(opened: int, *, wait: bool) -> None:
    if sys.platform != "win32":  # there, an open file can't be removed anyway
        fcntl.flock(opened, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
