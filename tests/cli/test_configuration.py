from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gradledger.cli import main
from tests.cli import fake_checker

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_checker.install(monkeypatch)
    monkeypatch.chdir(tmp_path)
    for path in ("src/a.py", "tests/b.py"):
        Path(path).parent.mkdir()
        Path(path).write_text("import torch\nGL101_certain()\nGL301_possible()\n", encoding="utf-8")


def configure(text: str, path: str = "pyproject.toml") -> None:
    Path(path).write_text(f"[tool.gradledger]\n{text}\n", encoding="utf-8")


def found(capsys: Captured, *argv: str) -> list[str]:
    main(["check", "--format", "concise", "-q", *argv])
    return [
        line.split(" ")[0] + line.split(" ")[1] for line in capsys.readouterr().out.splitlines()
    ]


BOTH = ["src/a.py:2:1:GL101", "tests/b.py:2:1:GL101"]
POSSIBLE = ["src/a.py:3:1:GL301", "tests/b.py:3:1:GL301"]


@pytest.mark.parametrize(
    ("text", "argv", "expected"),
    [
        ("", [], BOTH),
        ('select = ["GL3"]', [], []),
        ('select = ["GL3"]', ["--select", "GL1"], BOTH),
        ('ignore = ["spent-gradient-reused"]', [], []),
        ('ignore = ["GL101"]', ["--ignore", "GL2"], BOTH),
        ('possible = true\nselect = ["GL301"]', [], POSSIBLE),
        ("possible = true", ["--no-possible"], BOTH),
        ('exclude = ["tests/"]', [], BOTH[:1]),
        ('per-file-ignores = {"tests/**" = ["GL1"]}', [], BOTH[:1]),
        ('per-file-ignores = {"tests/" = ["GL1"]}', [], BOTH[:1]),
        ('per-file-ignores = {"b.py" = ["GL1"], "*.py" = ["GL2"]}', [], BOTH[:1]),
        ('per-file-ignores = {"/b.py" = ["GL1"]}', [], BOTH),
        ('[tool.gradledger.per-file-ignores]\n"src/*.py" = ["GL101"]', [], BOTH[1:]),
    ],
)
def test_the_projects_file_says_what_is_shown_unless_the_command_line_does(
    text: str, argv: list[str], expected: list[str], capsys: Captured
) -> None:
    configure(text)
    assert found(capsys, *argv) == expected


def test_what_fails_is_configured(capsys: Captured) -> None:
    Path("src/a.py").write_text("import torch\nGL502_certain()\n", encoding="utf-8")
    configure('fail-on = "error"')
    assert main(["check", "src"]) == 0
    assert main(["check", "src", "--fail-on", "warning"]) == 1


def test_a_configured_baseline_is_beside_the_configuration(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    configure('baseline = "base.json"')
    assert main(["check", "-q", "--write-baseline"]) == 0
    assert Path("base.json").exists()
    monkeypatch.chdir("src")
    assert found(capsys) == []


def test_the_nearest_file_with_a_table_above_the_first_path_holds(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    configure('select = ["GL2"]')
    # It names us and has no table of ours.
    Path("src/pyproject.toml").write_text('[project]\nname = "not-gradledger"\n', encoding="utf-8")
    configure('select = ["GL1"]', "tests/pyproject.toml")
    assert found(capsys, "src") == []
    assert found(capsys, "tests/b.py") == BOTH[1:]
    monkeypatch.chdir("tests")
    assert found(capsys, "../src") == []


def test_patterns_start_at_the_file_that_has_them(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    configure('exclude = ["/src"]\nper-file-ignores = {"tests/b.py" = ["GL101"]}')
    monkeypatch.chdir("tests")
    assert found(capsys, "..") == []


def test_a_file_that_is_named_is_read_instead(capsys: Captured) -> None:
    configure('select = ["GL2"]')
    configure('select = ["GL1"]', "other.toml")
    assert found(capsys, "--config", "other.toml") == BOTH
    Path("none.toml").write_text("", encoding="utf-8")
    assert main(["check", "--config", "none.toml"]) == 2
    assert "none.toml has no [tool.gradledger]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('selct = ["GL1"]', "has no key 'selct'. Did you mean 'select'?"),
        ('fail_on = "error"', "Did you mean 'fail-on'?"),
        ("zzz = 1", "There are select, ignore, per-file-ignores, exclude, fail-on, "),
        ('select = "GL1"', "select in [tool.gradledger] must be a list of strings"),
        ("exclude = [1]", "exclude in [tool.gradledger] must be a list of strings"),
        ('ignore = ["GL999"]', "ignore in [tool.gradledger]: no rule is called 'GL999'"),
        ('fail-on = "never"', "must be one of error, warning, info, got 'never'"),
        ("possible = 1", "must be true or false, got 1"),
        ("baseline = []", "must be a string, got []"),
        ('per-file-ignores = ["a"]', "must be a table of patterns"),
        ('per-file-ignores = {"a*" = "GL1"}', "'a*' must be a list of strings"),
        ('per-file-ignores = {"a*" = ["x"]}', "'a*': no rule is called 'x'"),
        ("select = [", "is no TOML: "),
    ],
)
def test_a_slip_is_one_sentence_with_file_and_key(text: str, said: str, capsys: Captured) -> None:
    configure(text)
    assert main(["check"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("gradledger: pyproject.toml")
    assert said in err


def test_a_table_that_is_none_is_an_error(capsys: Captured) -> None:
    Path("pyproject.toml").write_text("[tool]\ngradledger = 3\n", encoding="utf-8")
    assert main(["check"]) == 2
    assert "must be a table" in capsys.readouterr().err


def test_a_file_that_is_not_about_us_need_not_even_be_toml(capsys: Captured) -> None:
    Path("pyproject.toml").write_text("][", encoding="utf-8")
    assert found(capsys) == BOTH


def test_an_older_python_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    configure("")
    for name in ("tomllib", "tomli"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["check"]) == 2
    assert "pip install tomli" in capsys.readouterr().err
