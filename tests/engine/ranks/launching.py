"""Starts programs on several ranks, by torchrun, each bounded in time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.once import once
from tests.torchrun import torchrun

ROOT = Path(__file__).parents[3]


def launch(
    ranks: int, *arguments: str, seconds: int = 300, restarts: int = 0, real: bool = False
) -> str:
    """Runs a module on so many ranks of this machine. What it has printed; fails if it failed."""
    done = torchrun(ranks, *arguments, at=ROOT, restarts=restarts, seconds=seconds, real=real)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
    return done.stdout


def run_set(name: str, ranks: int, factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What each rank has to say to all cases of a set; launched once for all who ask."""
    with once(f"{name} {ranks}", factory) as (folder, first):
        if first:
            launch(ranks, "tests.engine.ranks.program", str(folder), name, str(ranks))
    return [torch.load(folder / f"rank{rank}", weights_only=False) for rank in range(ranks)]
