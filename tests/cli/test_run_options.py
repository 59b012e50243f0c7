from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import pytest

from gradledger.cli import main, run
from gradledger.cli.run_options import KEYS, configured


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "pyproject.toml"


def test_the_project_says_what_the_command_line_does_not(project: Path) -> None:
    project.write_text(
        "[tool.gradledger.run]\n"
        'format = "json"\nhtml = "out/report.html"\nselect = ["GL1", "GL2"]\n'
        'sample = 10\nquiet = true\nlive = false\nfail-on = "error"\n'
    )
    assert configured([]) == [
        "--format=json",
        f"--html={Path('out/report.html')}",
        "--select=GL1",
        "--select=GL2",
        "--sample=10",
        "--quiet",
        "--fail-on=error",
    ]
    assert configured(["--select", "GL3", "--format=text", "-q"]) == [
        f"--html={Path('out/report.html')}",
        "--sample=10",
        "--fail-on=error",
    ]


def test_paths_are_those_of_the_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write_text('[tool.gradledger.run]\nrecord = "run.gradledger"\n')
    below = project.parent / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    assert configured([]) == [f"--record={Path('..') / 'run.gradledger'}"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sampel = 10", "sampel in [tool.gradledger.run]: there is no such key. There are format"),
        ('sample = "10"', "sample in [tool.gradledger.run] must be a whole number, got '10'."),
        ('quiet = "yes"', "quiet in [tool.gradledger.run] must be true or false, got 'yes'."),
        ('select = "GL1"', "select in [tool.gradledger.run] must be a list of strings, got 'GL1'"),
        ("html = 3", "html in [tool.gradledger.run] must be a string, got 3."),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    project: Path, line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    project.write_text(f"[tool.gradledger.run]\n{line}\n")
    assert main(["run", "train.py"]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_every_option_has_a_key() -> None:
    parser = ArgumentParser()
    run.add_arguments(parser)
    options = {o[2:] for a in parser._actions for o in a.option_strings if o.startswith("--")}
    assert options - {"help"} == {*KEYS}
