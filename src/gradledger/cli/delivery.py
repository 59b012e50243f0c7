"""Writes a verdict to its file or stream, even if the script has closed its streams."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from typing import TextIO

from gradledger.errors import GradledgerError

Write = Callable[[TextIO], None]


class OutputError(GradledgerError):
    """An output file can't be written."""


def check_output(path: str, *, option: str) -> str:
    """The absolute path, after a test that it can be written: the script may take days."""
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise OutputError(f"{option}: there is no folder {folder}. Make it first.")
    if os.path.isdir(path):
        raise OutputError(f"{option}: {path} is a folder. Name a file in it.")
    try:
        if _is_special(path):
            with open(path, "ab"):
                pass
        else:
            with tempfile.TemporaryFile(dir=folder):
                pass
    except OSError as error:
        raise OutputError(
            f"{option}: {path} can't be written: {error.strerror}. Name another file."
        ) from None
    return path


def to_file(path: str, write: Write) -> None:
    """Writes the whole file, or leaves the old one unchanged."""
    if _is_special(path):
        with open(path, "w", encoding="utf-8") as file:
            write(file)
        return
    draft, name = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".gradledger-")
    try:
        with open(draft, "w", encoding="utf-8") as file:
            write(file)
        os.chmod(name, _permissions(path))
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def is_ours(path: str) -> bool:
    """True if gradledger wrote this page, and so may overwrite it."""
    with open(path, "rb") as file:
        return b'name="generator" content="gradledger' in file.read(2000)


class Streams:
    """Standard output and standard error as they were before the script started."""

    def __init__(self) -> None:
        self._files = {number: identity(number) for number in (1, 2)}

    def write(self, write: Write, *, error: bool = False) -> None:
        """Writes to one of them, or to the other if the script has closed that one."""
        for number in (2, 1) if error else (1, 2):
            # Once it is closed, the next file that the script opens gets its descriptor number.
            if self._files[number] is not None and self._files[number] == identity(number):
                with contextlib.suppress(OSError):
                    _write_all(number, _drafted(write, number))
                    return
        for stream in (sys.stderr, sys.stdout):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                write(stream)
                return


def identity(descriptor: int) -> tuple[int, int] | None:
    """Identifies the file behind it; None if it is closed."""
    with contextlib.suppress(OSError):
        found = os.fstat(descriptor)
        return found.st_dev, found.st_ino
    return None


def _drafted(write: Write, descriptor: int) -> bytes:
    draft = _Draft(descriptor)
    write(draft)
    return draft.getvalue().encode(draft.encoding, "replace")


class _Draft(io.StringIO):
    """Looks like the target stream, so that the text gets the right colours and width.

    Nothing of the text stays in the script's own stream. If that were a pipe without a reader,
    Python would report an error, and exit with another status.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self._descriptor = descriptor

    @property
    def encoding(self) -> str:  # type: ignore[override]
        stream = sys.__stdout__ if self._descriptor == 1 else sys.__stderr__
        return getattr(stream, "encoding", None) or "utf-8"

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return bool(os.environ.get("FORCE_COLOR")) or os.isatty(self._descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _is_special(path: str) -> bool:
    """True for a pipe, a terminal or a device, which can't be replaced as a whole."""
    return os.path.exists(path) and not os.path.isfile(path)


def _permissions(path: str) -> int:
    """The permissions of the file that is replaced, or those of a new file."""
    with contextlib.suppress(OSError):
        return stat.S_IMODE(os.stat(path).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
