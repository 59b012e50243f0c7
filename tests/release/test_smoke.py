"""The smoke test of a wheel notices what it should notice."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gradledger.cli import main
from release.smoke import FAULTY, Failed, _said


def test_the_program_that_it_checks_has_the_fault_that_it_looks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(FAULTY)
    assert main(["check", "train.py"]) == 1
    assert "train.py:7: GL101" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [("print(1)", 1, "1"), ("print(1)", 0, "2"), ("raise SystemExit(1)", 0, "")],
    ids=["another status", "other words", "a failure"],
)
def test_a_command_that_does_something_else_fails(
    tmp_path: Path, code: str, status: int, words: str
) -> None:
    with pytest.raises(Failed, match="wanted status"):
        _said([sys.executable, "-c", code], tmp_path, status, words)


def test_constraints_of_the_project_are_not_those_of_a_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_CONSTRAINT", "constraints.txt")
    code = "import os; print(os.environ.get('PIP_CONSTRAINT'))"
    assert _said([sys.executable, "-c", code], tmp_path, 0) == "None\n"
