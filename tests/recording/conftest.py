"""A small run to record, and programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gradledger.ledger.events import Backward, Clear, Event, Step, Weight
from gradledger.ledger.places import Place
from gradledger.recording import Recorder, RunInfo

CELLS = frozenset({"net.0.weight", "net.0.bias"})

Program = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def one_step() -> tuple[Event, ...]:
    helper = Place("train.py", 20, via=Place("train.py", 40, 8))
    return (
        Clear(Place("train.py", 10), CELLS),
        Backward(helper, CELLS, Weight("mean", 4.0, 32, divided_at=Place("train.py", 19, 4))),
        Step(Place("train.py", 12), "AdamW", CELLS),
    )


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    with Recorder(tmp_path / "run.gradledger", run=RunInfo("train.py")) as recorder:
        yield recorder


START = """
    import os, sys
    from gradledger.ledger.events import Batch
    from gradledger.ledger.places import Place
    from gradledger.recording import Recorder, Recording, RunInfo
    path = sys.argv[1]
    def record(recorder, lines):
        for line in lines:
            recorder.record(Batch(Place("train.py", line)))
"""


@pytest.fixture
def program() -> Program:
    """Runs pieces of source text, one after the other, in a new process."""

    def run(path: Path, *pieces: str) -> subprocess.CompletedProcess[str]:
        source = "\n".join(textwrap.dedent(piece) for piece in (START, *pieces))
        return subprocess.run(
            [sys.executable, "-c", source, str(path)], capture_output=True, text=True, timeout=60
        )

    return run


@pytest.fixture
def public_path() -> Iterator[Path]:
    """A directory that other users can reach, which pytest's own is not."""
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield Path(directory)
        os.chmod(directory, 0o755)
