"""Writing a checkpoint: whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import zlib
from collections.abc import Mapping
from importlib import metadata
from typing import Any, BinaryIO, cast

import torch

from gradledger.engine.checkpoint.content import plain
from gradledger.engine.checkpoint.left_overs import open_temporary, remove_left_overs
from gradledger.engine.checkpoint.sealing import FORMAT, VERSION, reason, seal
from gradledger.errors import CheckpointError


def write(path: str | os.PathLike[str], content: Mapping[str, object]) -> None:
    """Put a checkpoint at `path`, whole; or raise CheckpointError and leave what was there.

    A link is followed. "format", "version", "gradledger" and "torch" are keys of the header.
    """
    header = {
        "format": FORMAT,
        "version": VERSION,
        "gradledger": metadata.version("gradledger"),
        "torch": str(torch.__version__),
    }
    try:
        content = plain({**header, **content, **header}, "")
    except RecursionError:
        raise CheckpointError(
            f"{os.fspath(path)} was not written: what to save is nested too deep, or contains "
            "itself. Save it flatter."
        ) from None
    try:
        _replace(os.path.realpath(path), content)
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"{os.fspath(path)} was not written: {reason(error)}. What was there before is as it "
            "was. Name a file in a directory that exists, may be written to, and has room."
        ) from error


class Sealing:
    """A file that torch.save writes to; knows the checksum, and what went wrong."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._length = self._checksum = 0
        self.failure: BaseException | None = None

    def write(self, data: memoryview | bytes) -> int:
        try:
            self._file.write(data)
            self._length += len(data)
            self._checksum = zlib.crc32(data, self._checksum)
        except BaseException as failure:
            self.failure = self.failure or failure
            raise
        return len(data)

    def seal(self) -> None:
        self._file.write(seal(self._length, self._checksum))
        self._file.flush()
        os.fsync(self._file.fileno())

    def flush(self) -> None:
        self._file.flush()


def _replace(target: str, content: object) -> None:
    permissions = _permissions(target)
    remove_left_overs(target)
    temporary, file = open_temporary(target, 0o666 if permissions is None else permissions)
    try:
        with file:
            if permissions is not None:
                os.chmod(temporary, permissions)  # more than the umask let through
            _save(content, file)
            if sys.platform == "win32":
                file.close()  # Windows moves no open files; elsewhere, the lock must last till then
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_directory(os.path.dirname(target))


def _save(content: object, file: BinaryIO) -> None:
    sealing = Sealing(file)
    try:
        torch.save(content, cast(Any, sealing), pickle_protocol=2)
    except Exception as error:
        # torch hides a full disk, and Ctrl-C, behind an "unexpected pos" of its own.
        if sealing.failure is not None:
            raise sealing.failure from None
        raise CheckpointError(
            f"torch {torch.__version__} can't save this: {error}. Save it as another dtype or "
            "layout. No file was changed."
        ) from error
    sealing.seal()


def _permissions(target: str) -> int | None:
    """Those of the file to be replaced, if there is one."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):  # or a link to /dev/null would be the end of /dev/null
        raise OSError(errno.EINVAL, "something is there that is not a file")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "a write-protected file is there")
    return stat.S_IMODE(mode)


def _sync_directory(directory: str) -> None:
    # The file is whole whichever way this ends; only its name could still be lost, to a power cut.
    with contextlib.suppress(OSError):
        opened = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
