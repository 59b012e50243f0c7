from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from gradledger.errors import RecordingError
from gradledger.ledger.events import Batch, Clear, Event
from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.recording import Recorder, Recording, RunInfo
from gradledger.recording.fingerprints import note_fingerprint
from gradledger.recording.schema import APPLICATION_ID, VERSION

from .conftest import Program


def refusal(path: Path) -> str:
    """What a person is told who tries to open this file."""
    with pytest.raises(RecordingError) as caught:
        Recording(path)
    message = str(caught.value)
    assert str(path) in message
    assert message.count(".") >= 2, "what is wrong, and what to do"
    return message


def sqlite_file(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def read_all(path: Path) -> int:
    with Recording(path) as recording:
        list(recording.measures())
        recording.findings(), recording.sources(), recording.series(), recording.duration_ns
        recording.remarks(), recording.fingerprints()
        return len(list(recording.events()))


@pytest.fixture
def finished(tmp_path: Path, one_step: tuple[Event, ...]) -> Path:
    """A recording of some size, with something in every table."""
    with Recorder(tmp_path / "finished.gradledger", run=RunInfo("train.py")) as recorder:
        for n in range(2000):
            recorder.record(Batch(Place("train.py", n)))
            recorder.record(one_step[n % 3])
            recorder.measure("norm", n / 3, step=n)
        recorder.note_finding(Finding("GL101", Place("train.py", 2), "twice", "observed"))
        recorder.source("train.py", "import torch\n" * 300)
        recorder.remark("subject", "train.py")
        note_fingerprint(recorder, Place("train.py", 3), 1, {"w": 7})
    return recorder.path


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "does not exist. Recordings are made with" in refusal(tmp_path / "run.gradledger")


def test_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "run.gradledger"
    path.touch()
    assert "is empty: the run was stopped before" in refusal(path)


def test_a_directory(tmp_path: Path) -> None:
    assert "is a directory" in refusal(tmp_path)


@pytest.mark.parametrize("content", [b"x", b"epoch,loss\n" * 1000, os.urandom(9999)])
def test_a_foreign_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.gradledger"
    path.write_bytes(content)
    assert "is not a recording: it does not start like a SQLite file" in refusal(path)


def test_a_sqlite_file_of_another_program(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "run.gradledger", "CREATE TABLE events (number INTEGER)")
    assert "it is a SQLite file of another program" in refusal(path)


def test_a_newer_schema(finished: Path) -> None:
    sqlite_file(finished, f"PRAGMA user_version = {VERSION + 1}")
    message = refusal(finished)
    assert f"its schema has version {VERSION + 1}, this one reads up to {VERSION}" in message
    assert "pip install --upgrade gradledger" in message


def test_tables_that_were_never_created(tmp_path: Path) -> None:
    bare = sqlite_file(tmp_path / "bare.gradledger", "PRAGMA journal_mode = WAL")
    assert bare.stat().st_size > 0
    assert "is empty: the run was stopped before" in refusal(bare)


def test_a_table_that_is_missing(tmp_path: Path) -> None:
    path = sqlite_file(
        tmp_path / "run.gradledger",
        f"PRAGMA application_id = {APPLICATION_ID}",
        f"PRAGMA user_version = {VERSION}",
        "CREATE TABLE moments (number INTEGER)",
    )
    assert "is damaged: no such table: run" in refusal(path)


def test_an_event_of_a_newer_version_is_named(recorder: Recorder) -> None:
    recorder.record(Batch(Place("train.py", 1)))
    recorder.close()
    sqlite_file(recorder.path, "UPDATE facts SET kind = 'Teleport'")
    with Recording(recorder.path) as recording, pytest.raises(RecordingError) as caught:
        list(recording.events())
    assert "newer gradledger: this one does not know the event Teleport" in str(caught.value)


@pytest.mark.parametrize(
    ("table", "missing"),
    [
        ("cell_set_members", "cell set 1 is not whole"),
        ("places", "place 1 is"),
        ("facts", "fact 1 is"),
    ],
)
def test_rows_that_are_missing_are_damage(recorder: Recorder, table: str, missing: str) -> None:
    recorder.record(Clear(Place("train.py", 1), frozenset({"w"})))
    recorder.close()
    sqlite_file(recorder.path, f"DELETE FROM {table}")
    with Recording(recorder.path) as recording, pytest.raises(RecordingError, match=missing):
        list(recording.events())


def truncate(path: Path, chance: random.Random) -> None:
    os.truncate(path, chance.randrange(16, path.stat().st_size))


def overwrite(path: Path, chance: random.Random) -> None:
    with open(path, "r+b") as file:
        file.seek(chance.randrange(16, path.stat().st_size))
        file.write(chance.randbytes(chance.choice([1, 40, 4096])))


def blank(path: Path, chance: random.Random) -> None:
    with open(path, "r+b") as file:
        file.seek(4096 * chance.randrange(0, path.stat().st_size // 4096))
        file.write(bytes(4096))


@pytest.mark.parametrize("harm", [truncate, overwrite, blank])
def test_damage_is_called_damage_or_does_no_harm(
    finished: Path, harm: Callable[[Path, random.Random], None]
) -> None:
    chance = random.Random(7)
    harmed = finished.with_name("harmed.gradledger")
    told = 0
    for _ in range(60):
        shutil.copyfile(finished, harmed)
        harm(harmed, chance)
        try:
            read_all(harmed)
        except RecordingError:
            told += 1
    assert told >= 30


def test_a_truncated_recording_says_what_to_do(finished: Path) -> None:
    os.truncate(finished, finished.stat().st_size // 2)
    message = refusal(finished)
    assert "is damaged" in message
    assert "record the run again" in message


ANOTHER_USER = """
    if os.getuid() == 0:
        os.setgroups([]); os.setgid(65534); os.setuid(65534)
"""

CUT_OFF = """
    recorder = Recorder(path, run=RunInfo("train.py"))
    record(recorder, range(1000))
    assert recorder.flush()
    os._exit(0)
"""

READ = """
    with Recording(path) as recording:
        print(len(list(recording.events())), recording.ended)
"""


def test_a_file_that_may_not_be_read(public_path: Path, program: Program) -> None:
    path = public_path / "run.gradledger"
    Recorder(path, run=RunInfo("train.py")).close()
    path.chmod(0)
    result = program(path, ANOTHER_USER, READ)
    assert f"RecordingError: {path} may not be read by this user" in result.stderr


def test_a_recording_that_was_cut_off_is_whole_without_its_writer(
    tmp_path: Path, program: Program
) -> None:
    path = tmp_path / "run.gradledger"
    program(path, CUT_OFF)
    assert (tmp_path / "run.gradledger-wal").stat().st_size > 0
    assert program(path, READ).stdout == "1000 False\n"


@pytest.mark.parametrize("left", ["-wal -shm", "-wal", ""])
def test_a_recording_is_read_where_nothing_may_be_written(
    public_path: Path, program: Program, left: str
) -> None:
    path = public_path / "run.gradledger"
    program(path, CUT_OFF)
    if not left:
        sqlite_file(path, "SELECT * FROM run")  # finishes the left-over work, and stays in WAL mode
    elif "-shm" not in left:
        os.unlink(f"{path}-shm")
    assert sorted(f.name[len(path.name) :] for f in public_path.iterdir()) == sorted(
        {"", *left.split()}
    )
    for file in public_path.iterdir():
        file.chmod(0o444)
    public_path.chmod(0o555)
    assert program(path, ANOTHER_USER, READ).stdout == "1000 False\n"


def test_a_left_over_journal_is_worked_off_in_a_copy(recorder: Recorder) -> None:
    recorder.record(Clear(Place("train.py", 1), frozenset({"w"})))
    recorder.close()
    path = recorder.path
    before = path.read_bytes()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_spill = 1")
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE filler AS SELECT randomblob(100000) AS x")
    copy = path.with_name("copy.gradledger")
    for suffix in ("", "-journal"):  # as a kill would leave them
        shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
    connection.rollback()
    connection.close()
    assert copy.read_bytes() != before
    spoilt = copy.read_bytes()
    assert read_all(copy) == 1
    assert copy.read_bytes() == spoilt
