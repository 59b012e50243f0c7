"""docs/checker.md is enough to use the checker: what it shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradledger.cli import main
from gradledger.cli.check import FORMATS
from gradledger.policy import configuration
from gradledger.rules import CATALOGUE, Severity
from gradledger.static.fix.cures import CURES
from gradledger.static.source.suppression import IgnoreComments

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "checker.md").read_text(encoding="utf-8")
PROGRAM, IGNORED = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
CONSOLE: dict[str, str] = dict(re.findall(r"```console\n\$ (.*?)\n(.*?)```", PAGE, re.DOTALL))
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(PROGRAM, encoding="utf-8")


def test_what_the_page_says_about_the_program_is_what_check_says(capsys: Captured) -> None:
    assert main(["check", "train.py"]) == 1
    assert capsys.readouterr().out == CONSOLE["gradledger check train.py"]


def test_the_cure_on_the_page_is_one(capsys: Captured) -> None:
    cure = re.findall(r"^With `(self\..*?)` before the clip", PAGE, re.MULTILINE)[0]
    clip = "        torch.nn.utils.clip"
    Path("train.py").write_text(PROGRAM.replace(clip, f"        {cure}\n{clip}"), encoding="utf-8")
    assert main(["check", "train.py"]) == 0
    assert capsys.readouterr().out.startswith("The books balance")


def test_the_patch_on_the_page_is_what_check_shows(capsys: Captured) -> None:
    assert main(["check", "--diff", "train.py"]) == 1
    assert capsys.readouterr().out == CONSOLE["gradledger check --diff train.py"]


def test_every_rule_with_a_cure_is_on_the_page() -> None:
    assert re.findall(r"^\| (GL\d+) \|", PAGE, re.MULTILINE) == list(CURES)


def test_the_help_on_the_page_is_that_of_the_command(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    assert capsys.readouterr().out == CONSOLE["gradledger check --help"]


def test_the_configuration_on_the_page_has_every_key_and_makes_sense() -> None:
    (toml,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    Path("pyproject.toml").write_text(toml, encoding="utf-8")
    said = configuration.nearest(".")
    assert all(getattr(said, field) for field in said.fields)


def test_the_ignore_on_the_page_ignores() -> None:
    read = IgnoreComments(IGNORED)
    assert read.of("GL402", 1)
    assert read.mistakes == []


def test_every_format_and_every_info_is_on_the_page() -> None:
    assert all(f"`{format}`" in PAGE for format in FORMATS)
    infos = [rule.code for rule in CATALOGUE if rule.severity is Severity.INFO]
    assert f"Infos ({', '.join(infos)})" in PAGE


def test_commands_in_the_workflows_make_sense(capsys: Captured, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    commands = re.findall(r"- (?:run: )?gradledger (check .*)", PAGE)
    assert len(commands) == 3
    for command in commands:
        assert main(command.split()) == 0


def test_the_hook_for_pre_commit_is_that_of_the_page() -> None:
    hook = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    for line in ("entry: gradledger check", "types_or: [python, jupyter]", "require_serial: true"):
        assert line in hook
        assert line in PAGE
