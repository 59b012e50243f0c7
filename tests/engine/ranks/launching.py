"""Starts programs on several ranks, by torchrun, each bounded in time."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.torchrun import FRESH_STORE

ROOT = Path(__file__).parents[3]


def launch(ranks: int, *arguments: str, seconds: int = 300, restarts: int = 0) -> str:
    """Runs a module on so many ranks of this machine. What it has printed; fails if it failed."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={ranks}", f"--max-restarts={restarts}", "-m", *arguments]
    environment = os.environ | FRESH_STORE | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            printed, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.terminate()  # torchrun then ends its ranks, which a kill would leave behind
            printed, errors = process.communicate()
    assert process.returncode == 0, printed[-3000:] + errors[-6000:]
    return printed


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
