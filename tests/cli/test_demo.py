from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from gradledger.cli import main
from gradledger.cli.delivery import is_ours
from gradledger.cli.demo import TOUR, _as_it_came, _audit, _report
from gradledger.cli.live import Live
from gradledger.report.terminal import Terminal
from gradledger.rules import find, programs
from gradledger.rules.programs import Program
from tests.once import once


# Takes long: the tour loads torch for its programs, and again for its audit.
@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tour was taken, once for all workers."""
    with once("tour", tmp_path_factory) as (shared, first):
        folder = shared.resolve() / "here"
        if first:
            folder.mkdir()
            done = subprocess.run(
                [sys.executable, "-m", "gradledger", "demo"],
                cwd=folder,
                env={k: v for k, v in os.environ.items() if k != "FORCE_COLOR"},
                capture_output=True,
                text=True,
                check=True,
            )
            assert done.stderr == ""
            (shared / "printed").write_text(done.stdout, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def tour(folder: Path) -> str:
    """All that it printed."""
    return (folder.parent / "printed").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_tour_shows_what_the_programs_print_when_they_run_alone(tour: str) -> None:
    # One is enough, and not the first, so that something ran in the same process before it.
    program = programs.bad(find(list(TOUR)[-1]))
    alone = subprocess.run(
        [sys.executable, str(program.path)], capture_output=True, text=True, check=True
    )
    assert alone.stderr == ""
    # The last digits may depend on the number of threads.
    for line in alone.stdout.splitlines():
        assert line[:-2] in tour
    assert "Error" not in tour
    assert "ended with status" not in tour


@pytest.mark.slow
def test_the_tour_audits_a_program_and_ends_with_a_report_worth_opening(
    tour: str, folder: Path
) -> None:
    _, said = tour.split("$ gradledger run --html gradledger-report.html train.py\n")
    verdict, _ = said.split("\nRead on\n")
    assert "GL102 foreign-gradient-spent" in verdict
    assert "GL203 window-left-over" in verdict
    assert "The books do not balance: 1 error, 1 warning." in verdict
    (report,) = folder.iterdir()
    assert f"The report is in {report}. Open it in a browser." in " ".join(verdict.split())
    assert is_ours(str(report))
    assert "generator_loss.backward()" in report.read_text(encoding="utf-8")


def test_the_report_of_the_tour_takes_nobodys_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _report() == str(tmp_path.resolve() / "gradledger-report.html")
    (tmp_path / "gradledger-report.html").write_text("my own page")
    elsewhere = Path(_report())
    assert elsewhere.parent != tmp_path.resolve()
    elsewhere.parent.rmdir()


def test_in_colour_the_verdict_has_colours_and_no_line_is_lost() -> None:
    plain = "train.py:24: GL101\n\n  80 steps"
    painted = "\x1b[1mtrain.py:24\x1b[0m: \x1b[1;31mGL101\x1b[0m\n\n  80 steps"
    stream = io.StringIO()
    terminal = Terminal(stream)
    terminal.colour = True
    lines = list(_as_it_came(painted, terminal))
    assert "\n".join(str(*line) for line in lines) == plain
    assert [span.style for span in lines[0][0].spans] != []  # type: ignore[union-attr]


def test_an_audit_that_nobody_waits_for_is_ended_and_leaves_no_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    with _audit(Terminal(io.StringIO())) as process:
        assert list(temporary.iterdir()) != []
    assert process.returncode is not None
    assert list(temporary.iterdir()) == list(here.iterdir()) == []


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
