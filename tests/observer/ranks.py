"""Runs a program on several ranks under observation: `observe_ranks(path)`."""

from __future__ import annotations

import pickle
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.observer.observation import Observation
from tests.torchrun import torchrun

ROOT = Path(__file__).parents[2]


def observe_ranks(path: str | Path, n: int = 2, timeout: int = 120) -> list[Observation]:
    """What each rank of a program did, in the order of the ranks."""
    with TemporaryDirectory() as folder:
        rank = ("tests.observer.rank", str(path), folder)
        done = torchrun(n, *rank, at=ROOT, seconds=timeout)
        if done.returncode:
            words = done.stdout + done.stderr
            raise RuntimeError(f"not all ranks of {path} came back:\n{words}")
        return [_read(Path(folder, f"{rank}.pickle")) for rank in range(n)]


def _read(kept: Path) -> Observation:
    events, error, output = pickle.loads(kept.read_bytes())
    return Observation(events, None if error is None else RuntimeError(error), output, {})
