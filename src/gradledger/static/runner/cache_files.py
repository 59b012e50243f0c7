"""The files of a cache: written whole or not at all, read only if they are what was written."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any
from zlib import crc32

_MAGIC = b"gradledger cache 1 "
_TAG = """\
Signature: 8a477f597d28d172789f06886806bc55
# This folder holds what `gradledger check` remembers. It can be deleted at any time.
"""


def load(folder: str, key: dict[str, Any]) -> dict[str, Any] | None:
    """What was saved under this key by this Python; None where that is not so, whatever is there.

    It is JSON with a checksum: a file that someone else wrote can be wrong, but can do nothing.
    """
    try:
        with open(_path(folder, key), "rb") as file:
            head, _, body = file.read().partition(b"\n")
        if head != _MAGIC + b"%08x" % crc32(body):
            return None
        import json

        content = json.loads(body)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or content.get("key") != _full(key):
        return None
    return content


def save(folder: str, key: dict[str, Any], content: dict[str, Any]) -> None:
    """Writes it; says nothing where that can't be done: the next run is slower, that is all."""
    import json

    # ASCII: paths may hold what is no text, and come back as they were.
    body = json.dumps({"key": _full(key), **content}, separators=(",", ":")).encode("ascii")
    draft = os.path.join(folder, f"draft-{os.getpid()}")
    with contextlib.suppress(OSError, ValueError):
        _make(folder)
        try:
            with open(draft, "xb") as file:
                file.write(_MAGIC + b"%08x\n" % crc32(body) + body)
            os.replace(draft, _path(folder, key))
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft)
            raise


def _full(key: dict[str, Any]) -> dict[str, Any]:
    return {"python": sys.version, **key}


def _path(folder: str, key: dict[str, Any]) -> str:
    """Runs from other folders have files of their own: they know the same files by other paths."""
    name = crc32(repr(sorted(key.items())).encode("utf-8", "backslashreplace"))
    return os.path.join(folder, f"check-{name:08x}")


def _make(folder: str) -> None:
    """The folder, marked for git and for backups as what nobody wants to keep."""
    if os.path.isdir(folder):
        return
    os.mkdir(folder)
    for name, text in ((".gitignore", "*\n"), ("CACHEDIR.TAG", _TAG)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
