"""`run --html` and `--tensorboard`: reports of the run's own recording, which then goes away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gradledger.cli.delivery import is_ours
from gradledger.rules.programs import bad
from tests.runtime.command_line import CommandLine
from tests.runtime.test_examples import IN_RANKS, in_ranks

TRAINS = """\
import os, shutil, sys
import torch

model = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    model(torch.ones(4, 2)).mean().backward()
    optimizer.step()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TRAINS, encoding="utf-8")
    return tmp_path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"train.py"}


def test_the_page_is_written_and_its_recording_removed(
    folder: Path, command_line: CommandLine
) -> None:
    page = folder / "page.html"
    ended = command_line.audited(folder / "train.py", "--html", str(page))
    assert names(folder) == {"page.html"}
    assert is_ours(str(page))
    assert "GL101" in page.read_text(encoding="utf-8")
    assert f"The report is in {page}. Open it in a browser." in ended.errors
    assert ended.findings == {"GL101:8"}


def test_a_recording_that_was_asked_for_stays(folder: Path, command_line: CommandLine) -> None:
    words = ["--html", str(folder / "page.html"), "--record", str(folder / "mine.gradledger")]
    command_line.audited(folder / "train.py", *words)
    assert names(folder) == {"page.html", "mine.gradledger"}


def test_what_tensorboard_reads_is_written_and_the_recording_removed(
    folder: Path, command_line: CommandLine
) -> None:
    logs = folder / "logs" / "new"
    command_line.audited(folder / "train.py", "--tensorboard", str(logs))
    assert names(folder) == {"logs"}
    found = [path for path in logs.rglob("*") if path.is_file()]
    assert found
    assert all("tfevents" in path.name for path in found)


def test_a_recording_that_lay_there_is_neither_told_nor_removed(
    folder: Path, command_line: CommandLine
) -> None:
    (folder / "page.gradledger").write_text("of another run")
    command_line.audited(folder / "train.py", "--html", str(folder / "page.html"))
    assert names(folder) == {"page.html", "page.gradledger"}
    assert (folder / "page.gradledger").read_text() == "of another run"
    assert "GL101" in (folder / "page.html").read_text(encoding="utf-8")


def test_a_page_that_can_not_be_written_leaves_the_recording_and_the_verdict(
    folder: Path, command_line: CommandLine
) -> None:
    (folder / "out").mkdir()
    page = folder / "out" / "page.html"
    text = f"{TRAINS}os.mkdir({str(page)!r})\n"
    (folder / "train.py").write_text(text, encoding="utf-8")
    ended = command_line.audited(folder / "train.py", "--html", str(page))
    assert "there is no report: " in ended.errors
    assert f"The recording is in {page.with_suffix('.gradledger')}." in ended.errors
    assert ended.findings == {"GL101:8"}
    assert page.with_suffix(".gradledger").is_file()


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_its_recording_for_a_report(folder: Path) -> None:
    waits = f"""{TRAINS}
import signal, sqlite3
steps = "SELECT count(*) FROM moments JOIN facts ON fact = id WHERE kind = 'Step'"
file = sqlite3.connect("page.gradledger", timeout=60)
while file.execute(steps).fetchone()[0] < 3:
    pass
os.kill(os.getpid(), signal.SIGKILL)
"""
    (folder / "train.py").write_text(waits, encoding="utf-8")

    def gradledger(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "gradledger", *words],
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=120,
        )

    assert gradledger("run", "--html", "page.html", "train.py").returncode == -signal.SIGKILL
    assert "page.gradledger" in names(folder)
    assert "page.html" not in names(folder)
    told = gradledger("report", "page.gradledger", "--format", "html", "--output", "page.html")
    assert (told.returncode, told.stdout, told.stderr) == (0, "", "")
    assert "killed" in (folder / "page.html").read_text(encoding="utf-8")


def test_one_page_shows_all_ranks(folder: Path, command_line: CommandLine) -> None:
    page = folder / "page.html"
    program = bad(IN_RANKS[0]).path
    command_line.ranks(program, "--html", str(page), environments=in_ranks())
    assert names(folder) == {"page.html"}
    text = page.read_text(encoding="utf-8")
    assert "rank 0" in text.lower()
    assert "rank 1" in text.lower()
