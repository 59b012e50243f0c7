"""What happens to a run whose recording can't be written."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradledger.ledger.events import Batch
from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.recording import Recorder, Recording, RecordingWarning, Remark, RunInfo
from gradledger.recording.store import Store

from .conftest import Program

AT = Place("train.py", 7)


def train(path: Path) -> Recorder:
    """A run that knows nothing of its recording's troubles."""
    with Recorder(path, run=RunInfo("train.py")) as recorder:
        for step in range(100):
            recorder.record(Batch(AT))
            recorder.measure("norm", 1.0, step=step)
        recorder.flush()
        recorder.note_finding(Finding("GL101", AT, "", "observed"))
        recorder.source("train.py", "")
    return recorder


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing/run.gradledger", "No such file or directory"),
        ("file/run.gradledger", "Not a directory"),
        ("directory", "it is a directory"),
        ("pipe", "it is no regular file"),
        ("nul\0", "null"),
        ("x" * 300, "File name too long"),
    ],
)
def test_a_path_that_can_not_be_written_warns_once_and_the_run_goes_on(
    tmp_path: Path, path: str, reason: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.warns(RecordingWarning, match=reason) as caught:
        recorder = train(tmp_path / path)
    assert len(caught) == 1
    assert str(tmp_path) in str(caught[0].message)
    assert recorder.lost == 202
    assert sorted(file.name for file in tmp_path.iterdir()) == ["directory", "file", "pipe"]


TRAIN = """
    import warnings
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with Recorder(path, run=RunInfo("train.py")) as recorder:
            for _ in range(20):
                record(recorder, range(1000))
                recorder.flush()
    print("went on", len(caught), recorder.lost, caught[0].message)
"""


def test_a_read_only_directory_warns_once_and_the_run_goes_on(
    public_path: Path, program: Program
) -> None:
    public_path.chmod(0o555)
    another_user = "os.getuid() or (os.setgroups([]), os.setgid(65534), os.setuid(65534))"
    result = program(public_path / "run.gradledger", another_user, TRAIN)
    assert result.stdout.startswith("went on 1 20000 "), result.stderr
    assert "Permission denied" in result.stdout


def test_a_file_that_may_not_grow_warns_once_and_what_fits_is_kept(
    tmp_path: Path, program: Program
) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))"
    result = program(tmp_path / "run.gradledger", limit, TRAIN)
    assert result.stdout.startswith("went on 1 "), result.stderr
    lost = int(result.stdout.split()[3])
    with Recording(tmp_path / "run.gradledger") as recording:
        assert 0 < len(recording) == 20_000 - lost


@contextlib.contextmanager
def small_disk(directory: Path, kilobytes: int) -> Iterator[None]:
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "gradledger", str(directory)]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("this user may not mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


def test_a_full_disk_warns_once_and_what_fits_is_kept(tmp_path: Path, program: Program) -> None:
    with small_disk(tmp_path, 500):
        result = program(tmp_path / "run.gradledger", TRAIN)
        assert result.stdout.startswith("went on 1 "), result.stderr
        assert "full" in result.stdout
        lost = int(result.stdout.split()[3])
        with Recording(tmp_path / "run.gradledger") as recording:
            assert 0 < len(recording) == 20_000 - lost


def test_a_disk_that_is_full_from_the_start_keeps_no_stump(
    tmp_path: Path, program: Program
) -> None:
    with small_disk(tmp_path, 64):
        (tmp_path / "ballast").write_bytes(bytes(60 * 1024))
        result = program(tmp_path / "run.gradledger", TRAIN)
        assert result.stdout.startswith("went on 1 20000 "), result.stderr
        assert [file.name for file in tmp_path.iterdir()] == ["ballast"]


def test_a_disk_that_recovers_is_written_again_and_the_gap_shows(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder.record(Batch(AT))
    assert recorder.flush()

    with monkeypatch.context() as trouble:
        recorder.hold_still(10)  # until someone listens for the warning
        trouble.setattr(Store, "_insert", _io_error)
        recorder.note_finding(Finding("GL101", Place("train.py", 9), "", "observed"))
        recorder.source("train.py", "text")
        recorder.remark("subject", "train.py")
        recorder.record(Batch(Place("train.py", 8)))
        with pytest.warns(RecordingWarning, match="disk I/O error"):
            go_on_and_flush(recorder)

    recorder.record(Batch(Place("train.py", 8)))
    recorder.close()
    assert recorder.lost == 1
    with Recording(recorder.path) as recording:
        assert [(r.number, r.event.at.line) for r in recording.events()] == [(1, 7), (3, 8)]
        assert [noted.finding.at.line for noted in recording.findings()] == [9]
        assert recording.sources() == {"train.py": "text"}
        assert recording.remarks() == (Remark("subject", "", "train.py"),)
        assert recording.lost == 1


def go_on_and_flush(recorder: Recorder) -> None:
    recorder.go_on()
    recorder.flush()


def _io_error(*_: object) -> None:
    raise sqlite3.OperationalError("disk I/O error")


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_deleted_underneath_warns_once_and_is_not_written_again(
    recorder: Recorder, replaced: bool
) -> None:
    recorder.record(Batch(AT))
    assert recorder.flush()
    for suffix in ("", "-wal", "-shm"):
        os.unlink(f"{recorder.path}{suffix}")
    if replaced:
        recorder.path.write_text("someone else's")

    def go_on() -> None:
        for _ in range(10):
            recorder.record(Batch(AT))
            recorder.flush()
        recorder.close()

    with pytest.warns(RecordingWarning, match="deleted or replaced") as caught:
        go_on()
    assert len(caught) == 1
    assert recorder.lost == 10
    assert recorder.path.exists() == replaced
    if replaced:
        assert recorder.path.read_text() == "someone else's"


def test_a_warning_that_is_an_error_does_not_take_the_run_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = train(tmp_path / "missing" / "run.gradledger")  # in these tests, warnings are errors
    assert recorder.lost == 202
    assert "No such file or directory" in capsys.readouterr().err


def test_no_more_threads_warns_once_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", refuse)
    with pytest.warns(RecordingWarning, match="can't start new thread"):
        recorder = train(tmp_path / "run.gradledger")
    assert recorder.lost == 202
    assert not list(tmp_path.iterdir())
