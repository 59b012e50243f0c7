"""SIGTERM among ranks: the auditor has a turn, and the program ends as with plain Python."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from tests.runtime.test_launching import PROGRAMS, launched_as_plain

DIED = ("torch is there", "failed, died of Terminated")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the program, and with a torch that takes no time to import."""
    shutil.copy(PROGRAMS / "launch_sigterm.py", tmp_path)
    (tmp_path / "torch.py").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("way", "status", "verdict"),
    [
        ("plain", -signal.SIGTERM, DIED),
        ("looked for", -signal.SIGTERM, DIED),
        ("in an event loop", -signal.SIGTERM, DIED),
        ("ignored", 0, ("torch is there", "passed")),
        ("handled", 0, ("torch is there", "passed")),
        ("left by the handler", 9, ("torch is there", "failed, died of SystemExit")),
        ("in a child", 0, ("torch is there", "passed")),
    ],
)
def test_it_does_what_it_does_with_plain_python_after_the_verdict(
    way: str, status: int, verdict: tuple[str, ...], folder: Path
) -> None:
    environment = {"AT_SIGTERM": "1"}
    ended = launched_as_plain("launch_sigterm.py", way, at=folder, environment=environment)
    assert (ended.status, ended.verdict) == (status, verdict)


def test_a_process_alone_is_ended_at_once(folder: Path) -> None:
    ended = launched_as_plain("launch_sigterm.py", "plain", at=folder)
    assert ended.verdict == ("torch is there",)
