"""kill -9 at random moments, and every file read back."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from gradledger.errors import RecordingError
from gradledger.recording import Recording

PROGRAM = Path(__file__).with_name("killed_program.py")
MOMENT = 1_500_000_000
"""Nanoseconds. What was handed over longer ago must be in the file. Batches are 0.1 s apart; the
rest is for a machine that is busy with other things."""


Story = tuple[list[list[str]], int]
"""What a writer said, and when it was killed."""


class Writers:
    """Starts writers, and kills them."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._one_at_a_time = threading.Lock()

    def kill_one(self, path: Path, seconds: float, since: str, turns: int) -> Story:
        """Kill a new writer some time after it said a word."""
        os.mkfifo(f"{path}.said")
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._one_at_a_time:
            self._process.stdin.write(f"{path} {turns}\n")
            writer = int(self._process.stdout.readline())
        with open(f"{path}.said") as pipe:
            said = [pipe.readline()]
            while said[-1] != f"{since}\n":
                assert said[-1], "it ended by itself"
                said.append(pipe.readline())
            time.sleep(seconds)
            killed = time.monotonic_ns()
            os.kill(writer, signal.SIGKILL)
            said += pipe.readlines()
        return [line.split() for line in said if line.endswith("\n")], killed

    def kill_many(
        self, directory: Path, moments: list[float], since: str = "go", turns: int = 1_000_000
    ) -> list[tuple[Path, Story]]:
        """Kill a writer at each of these moments, a few at the same time."""
        paths = [directory / f"{kill}.gradledger" for kill in range(len(moments))]
        with ThreadPoolExecutor(max_workers=3) as several:
            stories = several.map(
                lambda path, moment: self.kill_one(path, moment, since, turns), paths, moments
            )
            return list(zip(paths, stories, strict=True))

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def writers() -> Iterator[Writers]:
    with closing(Writers()) as writers:
        yield writers


def numbers_in(path: Path) -> list[int]:
    with Recording(path) as recording:
        assert recording.lost == 0
        recorded = list(recording.events())
    assert [r.event.at.line for r in recorded] == [r.number for r in recorded]
    return [r.number for r in recorded]


def all_but_the_last_moment_is_in(path: Path, said: list[list[str]], killed: int) -> bool:
    """False: it was killed before there was a recording, and the file says so itself."""
    flushed = [int(line[1]) for line in said if line[0] == "flushed"]
    handed = [(int(line[1]), int(line[2])) for line in said if line[0] == "handed"]
    owed = max([0, *flushed, *(count for at, count in handed if at < killed - MOMENT)])
    try:
        numbers = numbers_in(path)
    except RecordingError as error:
        told = str(error)
    else:
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) >= owed
        return True
    assert owed == 0, told
    assert "is empty: the run was stopped" in told or "does not exist" in told
    return False


@pytest.mark.slow  # takes long: writers write for seconds before some of the kills
@pytest.mark.parametrize(
    ("shortest", "longest", "kills"),
    [(0.0, 0.06, 60), (0.0, 0.5, 30), (1.8, 2.5, 6)],
    ids=["while the file is created", "early", "later"],
)
def test_a_killed_writer_leaves_all_but_the_last_moment(
    writers: Writers, tmp_path: Path, shortest: float, longest: float, kills: int
) -> None:
    moments = [random.uniform(shortest, longest) for _ in range(kills)]
    opened = [
        all_but_the_last_moment_is_in(path, *story)
        for path, story in writers.kill_many(tmp_path, moments)
    ]
    if shortest > MOMENT / 1e9:
        assert all(opened)


def test_a_writer_killed_while_it_ends_leaves_everything_it_had_flushed(
    writers: Writers, tmp_path: Path
) -> None:
    moments = [random.uniform(0, 0.02) for _ in range(30)]
    for path, story in writers.kill_many(tmp_path, moments, since="closing", turns=50):
        assert all_but_the_last_moment_is_in(path, *story)
