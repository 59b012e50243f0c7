from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from gradledger.cli import main
from gradledger.cli.demo import TOUR
from gradledger.cli.live import Live
from gradledger.rules import find, programs
from gradledger.rules.programs import Program


def test_the_tour_shows_what_the_programs_print_when_they_run_alone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out
    # One is enough, and not the first, so that something ran in the same process before it.
    program = programs.bad(find(list(TOUR)[-1]))
    alone = subprocess.run(
        [sys.executable, str(program.path)], capture_output=True, text=True, check=True
    )
    assert alone.stderr == ""
    # The last digits may depend on the number of threads.
    for line in alone.stdout.splitlines():
        assert line[:-2] in shown
    assert "Error" not in shown
    assert "ended with status" not in shown


def test_without_torch_the_tour_reads_as_it_did(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    snapshot: SnapshotAssertion,
) -> None:
    monkeypatch.setattr("gradledger.torch_extra.torch_is_installed", lambda: False)
    assert main(["demo"]) == 0
    assert capsys.readouterr().out == snapshot


def test_every_fault_of_the_tour_is_silent() -> None:
    assert not any(find(code).stops for code in TOUR)


def test_one_process_runs_programs_one_after_another(tmp_path: Path) -> None:
    with Live([_program(tmp_path, "a", "print(1)\nprint(2)"), _program(tmp_path, "b", "")]) as live:
        assert live.next_output() == ["1", "2"]
        assert live.next_output() == []


def test_a_program_that_fails_shows_its_error_and_the_next_one_runs(tmp_path: Path) -> None:
    failing = _program(tmp_path, "a", "print('so far')\nraise RuntimeError('no further')")
    with Live([failing, _program(tmp_path, "b", "print('fine')")]) as live:
        assert live.next_output() == ["so far", "RuntimeError: no further"]
        assert live.next_output() == ["fine"]


def test_a_process_that_dies_is_reported_and_not_waited_for(tmp_path: Path) -> None:
    with Live([_program(tmp_path, "a", "import os\nos._exit(3)")]) as live:
        assert live.next_output() == ["(Python ended with status 3)"]
        assert live.next_output() == ["(Python ended with status 3)"]


def _program(folder: Path, name: str, source: str) -> Program:
    path = folder / f"{name}.py"
    path.write_text(source, encoding="utf-8")
    return Program(str(path), source, {})
