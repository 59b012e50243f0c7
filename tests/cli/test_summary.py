from __future__ import annotations

from pathlib import Path

import pytest

from gradledger.cli import main
from gradledger.cli.summary import OF_THE_JOB, Summary
from gradledger.ledger import Finding, Place
from gradledger.ledger.verdict import Verdict
from gradledger.report.markdown import MOST, summary
from tests.report.stories import all_is_well, several, wasted_work
from tests.server.programs import WRONG


def test_a_check_writes_a_table_of_its_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(WRONG)
    assert main(["check", "--summary", "summary.md", "train.py"]) == 1
    said = Path("summary.md").read_text()
    assert said.startswith("## gradledger: train.py\n\n**The books do not balance: 1 error ")
    assert "\n| error | GL101 spent-gradient-reused | train.py:8 | This step spends" in said


def test_a_run_adds_to_the_summary_of_the_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = tmp_path / "job.md"
    job.write_text("before\n")
    monkeypatch.setenv(OF_THE_JOB, str(job))
    assert Summary(None).write(all_is_well()) == ""
    assert job.read_text().startswith("before\n## gradledger: ")
    named = tmp_path / "named.md"
    named.write_text("old")
    assert Summary(str(named)).write(all_is_well()) == ""
    assert "The books balance" in named.read_text()
    assert "old" not in named.read_text()


def test_without_a_place_for_it_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(OF_THE_JOB, raising=False)
    assert Summary(None).write(all_is_well()) == ""


def test_what_cannot_be_written_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.py").write_text(WRONG)
    nowhere = tmp_path / "no" / "summary.md"
    assert main(["check", "-q", "--summary", str(nowhere), str(tmp_path / "train.py")]) == 2
    why = "can't be written: No such file or directory."
    assert capsys.readouterr().err == f"gradledger: the summary {nowhere} {why}\n"


def test_names_of_files_are_no_markdown() -> None:
    finding = Finding("GL101", Place("a|b_*.py", 1), "spends", "observed")
    assert "a\\|b\\_\\*.py:1" in summary(Verdict("t", (finding,)))


def test_a_long_list_is_cut() -> None:
    places = (Place("t.py", line) for line in range(1, MOST + 3))
    found = tuple(Finding("GL101", place, "spends", "observed") for place in places)
    assert "\nand 2 more\n" in summary(Verdict("t", found))


def test_every_finding_has_a_row() -> None:
    verdict = several(wasted_work())
    rows = [line for line in summary(verdict).splitlines() if line.startswith("| ")][2:]
    assert len(rows) == len(verdict.findings)
