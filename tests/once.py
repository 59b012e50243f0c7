"""What takes long is done once, for all processes that the tests are spread over."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def once(name: str, factory: pytest.TempPathFactory) -> Iterator[tuple[Path, bool]]:
    """A folder that all processes of this test run share, and whether this is the first to come.

    Others wait until the first is done, and find what it left.
    """
    base = factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / name.replace(" ", "-")
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        begun = folder / "begun"
        first = not begun.exists()
        begun.touch()
        yield folder, first
