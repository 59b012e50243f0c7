"""docs/ci.md: what it tells to type is what works."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from gradledger.cli import main
from gradledger.cli.run_options import configured
from tests.server.programs import WRONG

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


def test_the_workflow_uses_inputs_that_there_are() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    *_, step = yaml.safe_load(text)["jobs"]["gradledger"]["steps"]
    assert set(step["with"]) <= set(ACTION["inputs"])


def test_the_configuration_makes_sense(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text(text)
    assert len(configured([])) == 3


def test_the_line_for_reviewdog_works_as_far_as_the_pipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = re.findall(r"\$ gradledger (check [^|]*)\|", PAGE)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(WRONG)
    assert main(line.split()) == 0
    assert '"suggestions"' in capsys.readouterr().out


def test_the_program_for_trackers_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "ci.md", "exec"), {})


def test_the_versions_of_trackers_are_those_that_are_tested() -> None:
    listed = (ROOT / "tests" / "integrations" / "trackers.txt").read_text()
    pinned = dict(re.findall(r"^([\w-]+)==(\S+)$", listed, re.MULTILINE))
    assert pinned["wandb"] in PAGE.partition("| W&B |")[2].splitlines()[0]
    assert pinned["mlflow-skinny"] in PAGE.partition("| MLflow |")[2].splitlines()[0]
    assert pinned["trackio"] in PAGE.partition("| Trackio |")[2].splitlines()[0]
    assert version("tensorboard") in PAGE.partition("| TensorBoard |")[2].splitlines()[0]
