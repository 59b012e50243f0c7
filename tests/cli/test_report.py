"""`gradledger report`: which recordings it reads, where it writes, and what it can't do."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from gradledger.cli import main
from gradledger.cli.recordings import RecordingsError, recordings
from gradledger.cli.report import FORMATS
from gradledger.ledger import Place
from gradledger.ledger.events import Backward, Clear, Event, Step
from gradledger.recording import RunInfo
from tests.report.chronicle.recorded import record
from tests.strategies import OPENING, OWNED

Captured = pytest.CaptureFixture[str]

SOURCE = """\
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
"""
NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def uncleared(turns: int = 3) -> list[Event]:
    loop = [Backward(Place("train.py", 3, 4), OWNED["G"]), Step(Place("train.py", 4, 4), "G")]
    return [*OPENING, *loop * turns]


def cleared(turns: int = 3) -> list[Event]:
    loop: list[Event] = [
        Backward(Place("train.py", 3), OWNED["G"]),
        Step(Place("train.py", 4), "G"),
        Clear(Place("train.py", 5), OWNED["G"]),
    ]
    return [*OPENING, *loop * turns]


def bad_run(path: Path, **about: object) -> Path:
    run = RunInfo("train.py", **about)  # type: ignore[arg-type]
    record(path, uncleared(), run=run, sources={"train.py": SOURCE}, called={"G": "optimizer"})
    return path


def rank(folder: Path, number: int, name: str = "run", **about: object) -> Path:
    path = folder / f"{name}.gradledger"
    about = {"launch": "x", "world_size": 2, "started_at": NOON, **about}
    return bad_run(path, rank=number, **about)


# What it says ----------------------------------------------------------------------------------


def test_the_verdict_comes_again_with_its_code(folder: Path, capsys: Captured) -> None:
    bad_run(folder / "run.gradledger")
    assert main(["report", "run.gradledger"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("train.py:4: GL101 spent-gradient-reused")
    assert "   4 |     optimizer.step()\n" in said
    assert "The books do not balance: 1 error." in said
    assert "6 deposits: 6 spent, 6 spent again." in said


def test_formats_for_programs_are_those_of_the_run(folder: Path, capsys: Captured) -> None:
    bad_run(folder / "run.gradledger")
    assert main(["report", "run.gradledger", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [finding["rule"] for finding in told["findings"]] == ["GL101"]
    assert told["stats"]["respent"] == 6


def test_rules_are_selected_and_ignored(folder: Path, capsys: Captured) -> None:
    bad_run(folder / "run.gradledger")
    assert main(["report", "-q", "--ignore", "GL101", "run.gradledger"]) == 0
    assert "GL101" not in capsys.readouterr().out
    assert main(["report", "-q", "--select", "GL1", "run.gradledger"]) == 0
    assert "GL101" in capsys.readouterr().out


@pytest.mark.parametrize(("events", "status"), [(uncleared(), 1), (cleared(), 0)])
def test_fail_on_makes_it_a_check(folder: Path, events: list[Event], status: int) -> None:
    record(folder / "run.gradledger", events)
    assert main(["report", "-q", "--fail-on", "error", "run.gradledger"]) == status


def test_a_run_that_goes_on_or_was_killed_is_told_as_far_as_it_is_known(
    folder: Path, capsys: Captured
) -> None:
    import sqlite3

    path = bad_run(folder / "run.gradledger")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE run SET ended_ns = NULL")
    connection.close()
    assert main(["report", "run.gradledger"]) == 0
    said = capsys.readouterr().out
    assert "As far as they were kept, the books do not balance: 1 error." in said
    assert "Not all was audited: the recording ends before the run did" in said


def test_no_torch_is_loaded(folder: Path) -> None:
    bad_run(folder / "run.gradledger")
    code = (
        "import sys; from gradledger.cli import main; status = main(sys.argv[1:]); "
        "sys.exit(status or 'torch' in sys.modules)"
    )
    for format in ("text", "json", "html"):
        words = ["report", "run.gradledger", "--format", format, "--output", "out"]
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


# Where it goes ---------------------------------------------------------------------------------


def test_a_page_goes_into_a_pipe_or_the_file_that_was_named(folder: Path, capsys: Captured) -> None:
    bad_run(folder / "run.gradledger")
    assert main(["report", "run.gradledger", "--format", "html"]) == 0
    piped = capsys.readouterr().out
    assert main(["report", "run.gradledger", "--format", "html", "--output", "page.html"]) == 0
    assert (folder / "page.html").read_text(encoding="utf-8") == piped
    assert piped.lower().startswith("<!doctype html>")


def on_a_terminal(*words: str, at: Path) -> tuple[int, str]:
    """Status and output of a command whose standard output is a terminal."""
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "gradledger", *words], cwd=at, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    said = b""
    try:
        while part := os.read(ours, 4096):
            said += part
    except OSError:  # the end, on Linux
        pass
    os.close(ours)
    return done.returncode, said.decode().replace("\r\n", "\n")


def test_on_a_terminal_a_page_goes_into_a_file_named_after_the_recording(folder: Path) -> None:
    bad_run(folder / "run.gradledger")
    words = ["report", "run.gradledger", "--format", "html"]
    status, said = on_a_terminal(*words, at=folder)
    assert (status, said) == (0, "The report is in run.html. Open it in a browser.\n")
    assert (folder / "run.html").stat().st_size > 10_000
    assert on_a_terminal(*words, at=folder)[0] == 0  # one of ours may be written anew


def test_on_a_terminal_a_file_of_somebody_else_stays(folder: Path) -> None:
    bad_run(folder / "run.gradledger")
    (folder / "run.html").write_text("my own page")
    status, said = on_a_terminal("report", "run.gradledger", "--format", "html", at=folder)
    assert status == 2
    assert said == (
        "gradledger: run.html is there already, and gradledger did not write it. "
        "Name a file with --output.\n"
    )
    assert (folder / "run.html").read_text() == "my own page"


# What it can't do ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["report"], "the following arguments are required: RECORDING"),
        (["report", "nothing.gradledger"], "nothing.gradledger"),
        (["report", "text.gradledger"], "text.gradledger is not a recording"),
        (["report", "--ignore", "GL", "run.gradledger"], "no rule is called 'GL'"),
        (["report", "--select", "GL101", "--ignore", "GL101", "run.gradledger"], "leaves no rule"),
        (["report", "--output", "no/such/file", "run.gradledger"], "there is no folder"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    folder: Path, words: list[str], said: str, capsys: Captured
) -> None:
    bad_run(folder / "run.gradledger")
    (folder / "text.gradledger").write_text("just a text, and long enough to be looked at\n" * 9)
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("gradledger: ")
    assert said in captured.err
    assert captured.err.count("\n") == 1


# Which recordings ------------------------------------------------------------------------------


def test_one_name_stands_for_all_ranks(folder: Path) -> None:
    zero, one = rank(folder, 0, "run.rank0"), rank(folder, 1, "run.rank1")
    whole = folder / "run.gradledger"
    assert recordings([str(whole)]) == (zero, one)
    assert recordings([str(zero)]) == (zero, one)
    assert recordings([str(one)]) == (one, zero)
    assert recordings([str(one), str(zero)]) == (one, zero)


def test_ranks_of_another_launch_or_name_are_left_alone(folder: Path) -> None:
    zero = rank(folder, 0, "run.rank0")
    rank(folder, 1, "run.rank1", launch="y")
    rank(folder, 1, "other.rank1")
    rank(folder, 1, "run.rank1.copy")
    assert recordings(["run.gradledger"]) == (Path(zero.name),)


def test_of_a_restarted_job_the_ranks_that_began_together_belong_together(folder: Path) -> None:
    later = NOON + timedelta(hours=1)
    first = rank(folder, 0, "run.rank0"), rank(folder, 1, "run.rank1")
    second = (
        rank(folder, 0, "run.rank0.2", started_at=later),
        rank(folder, 1, "run.rank1.2", started_at=later + timedelta(seconds=2)),
    )
    assert recordings([str(first[0])]) == first
    assert recordings([str(second[0])]) == second
    assert recordings([str(folder / "run.gradledger")]) == second


def test_two_runs_are_not_taken_for_two_ranks(folder: Path) -> None:
    bad_run(folder / "a.gradledger")
    bad_run(folder / "b.gradledger")
    with pytest.raises(RecordingsError, match=r"are both of rank 0.* add --diff"):
        recordings(["a.gradledger", "b.gradledger"])


def test_all_ranks_have_one_verdict(folder: Path, capsys: Captured) -> None:
    rank(folder, 0, "run.rank0")
    rank(folder, 1, "run.rank1")
    assert main(["report", "run.gradledger"]) == 0
    said = capsys.readouterr().out
    assert said.count("GL101 spent-gradient-reused") == 1
    assert "2 ranks" in said


@pytest.mark.parametrize("format", [*FORMATS])
def test_a_recording_made_by_the_first_version_still_becomes_every_report(
    folder: Path, format: str
) -> None:
    import sqlite3

    made_then = Path(__file__).parents[1] / "recording" / "version_1.sql"
    with sqlite3.connect(folder / "old.gradledger") as connection:
        connection.executescript(made_then.read_text(encoding="utf-8"))
    connection.close()
    words = ["--format", format, "--output", "out", "--tensorboard", "logs"]
    assert main(["report", "old.gradledger", *words]) == 0
    assert "GL" in (folder / "out").read_text(encoding="utf-8") or format == "csv"
    assert list((folder / "logs").iterdir())
