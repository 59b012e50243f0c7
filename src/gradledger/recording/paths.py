"""The paths of recordings."""

from __future__ import annotations

import errno
import itertools
import os
from pathlib import Path


def rank_path(path: str | os.PathLike[str], *, rank: int, world_size: int) -> Path:
    """Where a rank records: at `path` itself when alone, else in `run.rank3.gradledger`."""
    path = Path(path)
    return path if world_size == 1 else path.with_name(f"{path.stem}.rank{rank}{path.suffix}")


def reserve(path: str | os.PathLike[str]) -> Path:
    """Create an empty file at `path`, or, where one is already, at the next free name beside it.

    Older recordings are never touched. A number is added instead of an error raised, because a
    restarted job comes with the same path as before and must not go unrecorded.
    """
    path = Path(path).absolute()  # the script may change directory
    for number in itertools.count(1):
        free = path if number == 1 else path.with_name(f"{path.stem}.{number}{path.suffix}")
        try:
            # Creating it is the only test that two processes can't both pass.
            os.close(os.open(free, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            if free.is_dir():
                raise IsADirectoryError(errno.EISDIR, "it is a directory", str(free)) from None
            if not free.is_file():
                raise OSError(errno.EINVAL, "it is no regular file", str(free)) from None
            continue
        return free
    raise AssertionError("numbers ended")
