"""`gradledger report` for other tools: traces, tables, TensorBoard, and two runs compared."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from gradledger.cli import main, other_tools
from gradledger.ledger.unseen import Unseen
from gradledger.report.tables import TABLES
from tests.report import recorded_runs as runs
from tests.report.recorded_runs import recorded

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    recorded(tmp_path / "leak.gradledger", runs.gan(3), runs.GAN)
    recorded(tmp_path / "mended.gradledger", runs.gan(3, leaks=False), runs.GAN)
    return tmp_path


def report(*words: str) -> int:
    return main(["report", *words])


def test_the_help_names_every_table() -> None:
    assert tuple(TABLES) == other_tools.TABLES


def test_a_trace_goes_to_a_file(folder: Path) -> None:
    assert report("leak.gradledger", "--format", "perfetto", "--output", "trace.json") == 0
    assert json.loads(Path("trace.json").read_text())["traceEvents"]


def test_a_table_goes_to_standard_output(folder: Path, capsys: Captured) -> None:
    assert report("leak.gradledger", "--format", "csv") == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert [row["step"] for row in rows] == ["1", "1", "2", "2", "3", "3"]


def test_a_table_of_findings_has_those_that_were_selected(folder: Path, capsys: Captured) -> None:
    table = "--format", "csv", "--table", "findings"
    report("leak.gradledger", *table)
    assert "GL102" in capsys.readouterr().out
    report("leak.gradledger", *table, "--ignore", "GL102")
    assert "GL102" not in capsys.readouterr().out


def test_one_name_stands_for_all_ranks(folder: Path, capsys: Captured) -> None:
    for n in range(2):
        recorded(folder / f"run.rank{n}.gradledger", runs.gan(1), rank=n, world_size=2)
    report("run.gradledger", "--format", "csv", "--table", "ranks")
    rows = csv.DictReader(capsys.readouterr().out.splitlines())
    assert [row["rank"] for row in rows] == ["0", "1"]
    report("run.gradledger", "--format", "perfetto")
    trace = json.loads(capsys.readouterr().out)["traceEvents"]
    assert {event["pid"] for event in trace} == {1, 2}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--format", "csv", "--table", "window"], "There are windows, spends"),
        (["--table", "windows"], "--format csv"),
        (["--diff"], "two recordings"),
        (["--diff", "mended.gradledger", "--format", "csv"], "text or json"),
        (["--diff", "mended.gradledger", "--tensorboard", "logs"], "TensorBoard"),
        (["--diff", "missing.gradledger"], "missing.gradledger"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_line(
    words: list[str], said: str, folder: Path, capsys: Captured
) -> None:
    assert report("leak.gradledger", *words) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_a_table_is_utf8_whatever_the_locale(folder: Path) -> None:
    recorded(folder / "names.gradledger", runs.gan(1), called={"optimizer-1": "größe"})
    command = "-m", "gradledger", "report", "names.gradledger", "--format", "csv"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, *command], capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "größe" in done.stdout.decode("utf-8")
    assert b"\r\n" in done.stdout
    assert b"\r\r" not in done.stdout


@pytest.mark.parametrize("format", ["csv", "perfetto"])
def test_who_reads_only_the_beginning_hears_nothing_else(format: str, folder: Path) -> None:
    recorded(folder / "long.gradledger", runs.gan(3_000))
    table = ["--table", "events"] if format == "csv" else []
    command = [sys.executable, "-m", "gradledger", "report", "long.gradledger", "--format", format]
    with subprocess.Popen(
        [*command, *table], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("format", ["csv", "perfetto", "text"])
def test_where_standard_output_is_closed_nothing_is_written(format: str, folder: Path) -> None:
    command = f'"{sys.executable}" -m gradledger report leak.gradledger --format {format} >&-'
    done = subprocess.run(command, shell=True, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")


# TensorBoard --------------------------------------------------------------------------------


def test_tensorboard_files_come_in_addition_to_the_report(folder: Path, capsys: Captured) -> None:
    assert report("leak.gradledger", "--tensorboard", "logs/today", "--format", "json") == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["findings"]
    assert captured.err == "For TensorBoard: tensorboard --logdir logs/today\n"
    (file,) = Path("logs/today").iterdir()
    assert "tfevents" in file.name


def test_a_folder_that_cannot_be_made_is_said_in_one_line(folder: Path, capsys: Captured) -> None:
    assert report("leak.gradledger", "--tensorboard", "leak.gradledger", "-q") == 2
    assert "leak.gradledger can't be written: File exists" in capsys.readouterr().err


# Two runs -----------------------------------------------------------------------------------


def test_two_runs_for_people(folder: Path, capsys: Captured, snapshot: SnapshotAssertion) -> None:
    assert report("--diff", "mended.gradledger", "leak.gradledger") == 1
    assert capsys.readouterr().out == snapshot


@pytest.mark.parametrize(
    "words",
    [
        ["--diff", "leak.gradledger", "mended.gradledger", "--format", "json"],
        ["leak.gradledger", "--diff", "mended.gradledger", "--format", "json"],
        ["leak.gradledger", "mended.gradledger", "--diff", "--format", "json"],
        ["--diff", "--format", "json", "leak.gradledger", "mended.gradledger"],
        ["--diff", "leak.gradledger", "--format", "json", "mended.gradledger"],
    ],
)
def test_the_first_that_is_named_came_before(
    words: list[str], folder: Path, capsys: Captured
) -> None:
    assert report(*words) == 0
    found = json.loads(capsys.readouterr().out)["findings"]
    assert [finding["rule"] for finding in found["gone"]] == ["GL102"]


def test_a_run_may_be_compared_with_itself(folder: Path) -> None:
    for words in (["x", "--diff", "x"], ["--diff", "x", "x"], ["--diff", "x", "-q", "x"]):
        names = [word.replace("x", "leak.gradledger") for word in words]
        assert report(*names) == 0


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["leak.gradledger", "mended.gradledger"], 0),  # it has become better
        (["leak.gradledger", "leak.gradledger"], 0),  # and it stays bad
        (["mended.gradledger", "leak.gradledger"], 1),
        (["mended.gradledger", "leak.gradledger", "--fail-on", "error"], 1),
        (["mended.gradledger", "leak.gradledger", "--ignore", "GL102"], 0),
    ],
)
def test_the_status_says_whether_a_law_is_newly_broken(
    words: list[str], status: int, folder: Path
) -> None:
    assert report("--diff", *words) == status


def test_a_new_warning_does_not_fail_where_errors_are_asked_for(folder: Path) -> None:
    events = list(runs.accumulation((4, 4)))
    recorded(folder / "good.gradledger", events)
    recorded(folder / "warned.gradledger", runs.scaled())
    pair = "good.gradledger", "warned.gradledger"
    assert report("--diff", *pair) == 1
    assert report("--diff", *pair, "--fail-on", "error") == 0


def test_what_only_the_second_run_did_not_see_fails_where_that_is_wanted(folder: Path) -> None:
    events, unseen = list(runs.accumulation((4, 4))), [Unseen("weights", "compiled")]
    recorded(folder / "seen.gradledger", events)
    recorded(folder / "unseen.gradledger", events, unseen=unseen)
    for before, status in (("seen.gradledger", 1), ("unseen.gradledger", 0)):
        pair = "--diff", before, "unseen.gradledger"
        assert report(*pair, "--fail-on", "unseen") == status
        assert report(*pair, "--fail-on", "warning") == 0
    assert report("--fail-on", "unseen", "unseen.gradledger") == 1
    assert report("--fail-on", "warning", "unseen.gradledger") == 0
    assert report("--fail-on", "unseen", "seen.gradledger") == 0


def test_the_difference_is_json_in_a_file(folder: Path) -> None:
    words = "--diff", "leak.gradledger", "mended.gradledger", "--format", "json"
    assert report(*words, "--output", "diff.json") == 0
    gone = json.loads(Path("diff.json").read_text())["findings"]["gone"]
    assert [finding["rule"] for finding in gone] == ["GL102"]


def test_no_report_loads_torch(folder: Path) -> None:
    program = """
import sys
from gradledger.cli import main
for words in (
    ["leak.gradledger", "--format", "perfetto", "--output", "t.json", "--tensorboard", "logs"],
    ["leak.gradledger", "--format", "csv", "--output", "t.csv"],
    ["--diff", "leak.gradledger", "mended.gradledger"],
):
    assert main(["report", *words]) == 0, words
for heavy in ("torch", "numpy", "tensorboard", "google.protobuf"):
    assert heavy not in sys.modules, heavy
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
