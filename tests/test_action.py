"""action.yml: its steps, run as GitHub runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.server.programs import RIGHT, WRONG

ACTION = yaml.safe_load((Path(__file__).parents[1] / "action.yml").read_text())


@pytest.mark.parametrize(
    ("text", "fail_on", "status"),
    [(WRONG, "warning", 1), (WRONG, "never", 0), (RIGHT, "warning", 0)],
    ids=["fails", "lets it pass", "clean"],
)
def test_the_check_annotates_summarizes_and_writes_sarif(
    tmp_path: Path, text: str, fail_on: str, status: int
) -> None:
    (tmp_path / "my train.py").write_text(text)
    done = _check(tmp_path, {"FAIL_ON": fail_on, "PATHS": ".", "ARGS": "--select GL1"})
    assert done.returncode == status, done.stderr
    found = text == WRONG
    assert ("::error file=my train.py,line=8,title=GL101" in done.stdout) == found
    assert ("| error | GL101" in (tmp_path / "summary.md").read_text()) == found
    named = (tmp_path / "output").read_text().strip().partition("sarif-file=")[2]
    assert ("GL101" in Path(named).read_text()) == found


def test_a_file_that_is_no_python_is_annotated_and_the_others_are_uploaded(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(WRONG)
    (tmp_path / "bad.py").write_text("def (:\n")
    done = _check(tmp_path, {"FAIL_ON": "never", "PATHS": "good.py bad.py", "ARGS": ""})
    assert done.returncode == 2
    assert "::error file=good.py,line=8,title=GL101" in done.stdout
    assert done.stderr.count("bad.py:1: not checked") == 1
    assert "GL101" in (tmp_path / "summary.md").read_text()
    assert "GL101" in (tmp_path / "bin" / "gradledger.sarif").read_text()
    assert "sarif-file=" in (tmp_path / "output").read_text()


def test_where_nothing_can_be_checked_nothing_is_uploaded(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "gradledger.sarif").write_text("of an earlier step")
    inputs = {"FAIL_ON": "warning", "PATHS": ".", "ARGS": "--nonsense"}
    done = _check(tmp_path, inputs)
    assert done.returncode == 2
    assert done.stderr.count("--nonsense") == 1, "it is said once"
    assert not (tmp_path / "output").exists()
    upload = next(step for step in ACTION["runs"]["steps"] if "upload-sarif" in str(step))
    assert "steps.check.outputs.sarif-file != ''" in upload["if"]


def test_inputs_are_words_and_no_commands(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RIGHT)
    evil = "train.py; touch $(echo evil) `touch evil` $HOME * && touch evil"
    _check(tmp_path, {"FAIL_ON": "warning; touch evil", "PATHS": evil, "ARGS": "$(touch evil)"})
    assert not (tmp_path / "evil").exists()
    assert "${{" not in str([step.get("run") for step in ACTION["runs"]["steps"]])


def test_every_input_is_used_and_every_step_has_a_shell() -> None:
    steps = ACTION["runs"]["steps"]
    used = str(steps)
    assert all(f"inputs.{name}" in used for name in ACTION["inputs"])
    assert all("shell" in step for step in steps if "run" in step)
    assert ACTION["runs"]["using"] == "composite"


def _check(folder: Path, inputs: dict[str, str]) -> subprocess.CompletedProcess[str]:
    (step,) = (step for step in ACTION["runs"]["steps"] if step.get("id") == "check")
    commands = folder / "bin"
    commands.mkdir(exist_ok=True)
    command = commands / "gradledger"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gradledger "$@"\n')
    command.chmod(0o755)
    env: dict[str, Any] = {
        **os.environ,
        **inputs,
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(folder / "bin"),
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "GITHUB_WORKSPACE": str(folder),
    }
    # As GitHub starts `shell: bash`.
    argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(argv, cwd=folder, env=env, capture_output=True, text=True, check=False)
