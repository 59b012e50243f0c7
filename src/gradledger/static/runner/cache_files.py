"""The files of a cache: written whole or not at all, read only if they are what was written."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from typing import Any
from zlib import crc32

from gradledger.static import budget
from gradledger.static.runner.cache_folder import CacheProblem, check_owner, make_folder
from gradledger.static.runner.hashing import hash_of

_MAGIC = b"gradledger cache 2 "
_DAMAGED = "it is damaged, or another program wrote it"


def load(folder: str, key: dict[str, Any]) -> dict[str, Any] | None:
    """What was saved under this key by this Python; None if nothing was.

    Raises CacheProblem if there is something else in its place.
    """
    path = path_of(folder, key)
    try:
        data = _read(path)
    except OSError:
        return None
    head, _, body = data.partition(b"\n")
    if head != _MAGIC + b"%08x" % crc32(body):
        raise CacheProblem(_DAMAGED)
    import json

    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        raise CacheProblem(_DAMAGED) from None
    if not isinstance(content, dict) or not isinstance(content.get("key"), dict):
        raise CacheProblem(_DAMAGED)
    if content["key"] != _full(key):  # another Python
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # it was used
    return content


def _read(path: str) -> bytes:
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    # Neither follows a link nor waits for a pipe that someone put there.
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    if os.path.islink(path):
        raise CacheProblem("it is a link")
    with open(os.open(path, flags), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise CacheProblem("it is not a file")
        check_owner(found)
        if found.st_size > budget.MOST_CACHE_BYTES:
            raise CacheProblem("it is too large")
        return file.read()


def save(folder: str, key: dict[str, Any], content: dict[str, Any]) -> None:
    """Writes it; silent if that is impossible: the next run is slower, that is all."""
    import json

    # ASCII: paths may hold what is no text, and come back as they were.
    body = json.dumps({"key": _full(key), **content}, separators=(",", ":")).encode("ascii")
    draft = os.path.join(folder, f"draft-{os.getpid()}")
    with contextlib.suppress(OSError, ValueError):
        make_folder(folder)
        try:
            # For this user alone: it tells what is in their files.
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
            with open(descriptor, "wb") as file:
                file.write(_MAGIC + b"%08x\n" % crc32(body) + body)
            os.replace(draft, path_of(folder, key))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft)
            raise
        _forget_oldest(folder)


_BINARY = getattr(os, "O_BINARY", 0)


def _forget_oldest(folder: str) -> None:
    with os.scandir(folder) as entries:
        kept = [entry for entry in entries if entry.name.startswith(("check-", "draft-"))]
    if len(kept) > budget.MOST_CACHES:
        kept.sort(key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns)
        for entry in kept[: -budget.MOST_CACHES]:
            os.unlink(entry.path)


def _full(key: dict[str, Any]) -> dict[str, Any]:
    return {"python": sys.version, **key}


def path_of(folder: str, key: dict[str, Any]) -> str:
    """Each project has a file of its own; more, where it is checked from several folders.

    From another folder the same files have other paths.
    """
    name = hash_of(repr(sorted(key.items())).encode("utf-8", "backslashreplace"))
    return os.path.join(folder, f"check-{name}")
