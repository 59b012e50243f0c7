"""Starts programs on several ranks, by torchrun, each bounded in time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.torchrun import torchrun

ROOT = Path(__file__).parents[3]


def launch(
    ranks: int, *arguments: str, seconds: int = 300, restarts: int = 0, real: bool = False
) -> str:
    """Runs a module on so many ranks of this machine. What it has printed; fails if it failed."""
    done = torchrun(ranks, *arguments, at=ROOT, restarts=restarts, seconds=seconds, real=real)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return done.stdout


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


def run_set(name: str, ranks: int, factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each rank has to say to all cases of a set; launched once for all who ask."""
    with once(f"{name} {ranks}", factory) as (folder, first):
        if first:
            launch(ranks, "tests.engine.ranks.program", str(folder), name, str(ranks))
    return [torch.load(folder / f"rank{rank}", weights_only=False) for rank in range(ranks)]
