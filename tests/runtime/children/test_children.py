"""Processes that an audited program starts: one verdict for all, and none of them notices."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from gradledger.ledger.events import Backward
from gradledger.recording import Recording
from tests.runtime.command_line import CommandLine, Ended, fresh

PROGRAMS = Path(__file__).parents[1] / "programs" / "children"
slow = pytest.mark.slow


def audited(name: str, *words: str, at: Path, ours: tuple[str, ...] = (), **told: str) -> Ended:
    """`gradledger run` of a program in `PROGRAMS`, and its verdict."""
    run = ("-m", "gradledger", "run", "--format", "json", "--output", "verdict", *ours)
    # Not inside `at`: the sockets that loaders' workers make here must have short paths.
    with TemporaryDirectory() as temporary:
        told = {"TMPDIR": temporary, **told}
        ended = fresh(*run, str(PROGRAMS / name), *words, at=at, **told)
        assert list(Path(temporary).glob("gradledger-*")) == []
    verdict = json.loads((at / "verdict").read_text(encoding="utf-8"))
    return Ended(ended.status, ended.output, ended.errors, verdict=verdict)


def evidence(ended: Ended) -> list[list[str]]:
    """For each finding its evidence that has no place: `on rank 1`."""
    notes: list[list[str]] = []
    for found in ended.verdict["findings"]:
        seen: list[Any] = [e for e in found["evidence"] if not e.get("path")]
        notes.append([f"{e['what']} {e.get('note', '')}".strip() for e in seen])
    return notes


def line_of(name: str, text: str) -> int:
    lines = (PROGRAMS / name).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if text in line)


# What they train --------------------------------------------------------------------------------

STEP = line_of("processes.py", "optimizer.step()")


def judged(ended: Ended) -> None:
    """Both processes of that program are in the verdict, and the fault of one."""
    assert ended.status == 0, ended.errors
    assert ended.findings == {f"GL101:{STEP}"}
    (finding,) = ended.verdict["findings"]
    assert finding["path"] == str(PROGRAMS / "processes.py")
    assert finding["count"] == 3
    stats = ended.verdict["stats"]
    assert (stats["backwards"], stats["steps"], stats["trouble"]) == (7, 7, "")
    assert len(evidence(ended)[0]) == 2, "never cleared, and in which process"


def test_what_forked_children_train_is_in_the_verdict(command_line: CommandLine) -> None:
    ended, plain = command_line.both(PROGRAMS / "processes.py")
    judged(ended)
    assert ended.seen_by_the_program == plain.seen_by_the_program


@slow
@pytest.mark.parametrize("way", ["fork", "spawn", "forkserver", "pool"])
def test_what_children_train_is_in_the_verdict(way: str, tmp_path: Path) -> None:
    judged(audited("processes.py", way, at=tmp_path))


@slow
@pytest.mark.parametrize("way", ["spawn", "fork"])
def test_ranks_by_multiprocessing_compute_the_same_and_are_told_as_ranks(
    way: str, tmp_path: Path
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    assert fresh(str(PROGRAMS / "ranks.py"), way, at=plain).status == 0
    ended = audited("ranks.py", way, at=tmp_path)
    assert (ended.status, ended.errors) == (0, "")
    for rank in range(2):
        same = [(folder / f"rank{rank}.txt").read_bytes() for folder in (plain, tmp_path)]
        assert same[0] == same[1]
    stats = ended.verdict["stats"]
    assert ended.verdict["findings"] == []
    assert (stats["ranks"], stats["backwards"], stats["steps"]) == (2, 5, 5)
    assert (stats["entries"], stats["lost"], stats["trouble"]) == (20, 0, "")


@slow
def test_a_fault_of_one_rank_says_on_which(tmp_path: Path) -> None:
    ended = audited("ranks.py", "fork", "fault", at=tmp_path, ours=("--fail-on", "error"))
    assert ended.status == 1
    assert f"GL101:{line_of('ranks.py', '            optimizer.step()')}" in ended.findings
    assert "GL803" in {found["rule"] for found in ended.verdict["findings"]}
    assert any("on rank 1" in notes for notes in evidence(ended))


@slow  # takes long: the program starts others that load torch, and runs twice
def test_commands_see_the_surroundings_and_say_the_words_that_they_would_without_us(
    tmp_path: Path,
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import sys; sys.flags\n", encoding="utf-8")
    told = {"TMPDIR": str(own), "PYTHONPATH": str(own)}
    ended = audited("commands.py", at=tmp_path, TMPDIR=str(own), PYTHONPATH=str(own))
    plain = fresh(str(PROGRAMS / "commands.py"), at=tmp_path, **told)
    assert ended.seen_by_the_program == plain.seen_by_the_program
    assert ended.verdict["stats"]["entries"] == 4
    assert ended.verdict["stats"]["trouble"].count("died of RuntimeError") == 4


@slow
@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_workers_that_do_not_train_load_nothing_of_the_auditor(way: str, tmp_path: Path) -> None:
    ended = audited("workers_that_do_not_train.py", way, at=tmp_path)
    loaded = 8.0 if way == "fork" else 0.0  # the parent has loaded it before
    assert ended.output == f"loaded, patched: [{loaded}, 0.0]\n"
    assert ended.verdict["findings"] == []
    assert ended.verdict["stats"]["backwards"] == 4


@slow
@pytest.mark.parametrize(("program", "way"), [("ranks.py", "fork"), ("processes.py", "spawn")])
def test_each_process_that_trains_has_a_recording(program: str, way: str, tmp_path: Path) -> None:
    record = ("--record", "run.gradledger", "--html", "report.html")
    audited(program, way, at=tmp_path, ours=record)
    recordings = sorted(tmp_path.glob("run*.gradledger"))
    assert len(recordings) == 2
    ranks = []
    for path in recordings:
        with Recording(path) as recording:
            ranks.append((recording.run.rank, recording.run.world_size))
            assert recording.ended
            assert list(recording.events(Backward))
    assert ranks == ([(0, 2), (1, 2)] if program == "ranks.py" else [(0, 1), (0, 1)])
    assert (tmp_path / "report.html").exists()


@slow
def test_a_python_that_can_not_be_reached_is_said(tmp_path: Path) -> None:
    script = tmp_path / "starts.py"
    script.write_text(
        "import subprocess, sys\n"
        "for flags, text in (('-I', 'import torch'), ('-S', 'pass'), ('-B', 'import torch')):\n"
        "    print(subprocess.Popen([sys.executable, flags, '-c', text]).pid, flush=True)\n",
        encoding="utf-8",
    )
    ended = audited(str(script), at=tmp_path)
    isolated = ended.output.split()[0]
    (unknown,) = ended.verdict["unknown"]
    assert unknown["names"] == [isolated]
    assert unknown["why"] == "Python was started with -I"


# How they end -----------------------------------------------------------------------------------


@slow
@pytest.mark.parametrize(
    ("way", "status", "trouble"),
    [
        ("killed", -9, "process ForkProcess-1 died (read up to step "),
        ("leaves", 3, "process ForkProcess-1 left with status 3"),
        ("exits", 4, "process ForkProcess-1 left with status 4"),
        ("raises", 1, "process ForkProcess-1 died of ValueError: boom"),
        ("terminated", -15, "process ForkProcess-1 received SIGTERM"),
        ("daemon", None, ""),
    ],
)
def test_what_a_child_had_found_is_in_the_verdict_however_it_ended(
    way: str, status: int | None, trouble: str, tmp_path: Path
) -> None:
    ended = audited("ends.py", way, at=tmp_path)
    assert ended.status == 0
    assert ended.output == ("" if status is None else f"{status}\n")
    assert ended.findings == {f"GL101:{line_of('ends.py', 'optimizer.step()')}"}
    said = ended.verdict["stats"]["trouble"]
    assert said.startswith(trouble) if trouble else said == ""


@slow  # takes long: the audit waits for the child, to its limit
def test_a_child_that_outlives_the_program_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    ended = audited("ends.py", "outlives", at=tmp_path)
    process = int((tmp_path / "pid").read_text())
    os.kill(process, signal.SIGKILL)
    assert ended.status == 0
    assert "had not ended" in ended.verdict["stats"]["trouble"]
    assert ended.verdict["stats"]["backwards"] > 0
