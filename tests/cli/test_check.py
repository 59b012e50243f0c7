"""The command, with a checker that finds what a line itself says (fake_checker)."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gradledger.cli import main
from tests.cli import fake_checker

ROOT = Path(__file__).parents[2]

CLEAN = "import torch\ndeposit()\n"
FAULTY = "import torch\ndeposit()\nGL101_certain()\n"
SCHEMA = json.loads((ROOT / "docs" / "findings.schema.json").read_text(encoding="utf-8"))

Files = Callable[..., None]
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_checker.install(monkeypatch)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    def write(**texts: str) -> None:
        for name, text in texts.items():
            path = tmp_path / name.replace("__", "/").replace("_dot_", ".")
            path = path if path.suffix else path.with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    return write


def notebook(*cells: str) -> str:
    code = [{"cell_type": "code", "source": text} for text in cells]
    title = {"cell_type": "markdown", "source": "A notebook"}
    return json.dumps({"cells": [title, *code], "metadata": {}, "nbformat": 4})


def found(capsys: Captured) -> list[str]:
    """`path:line CODE` of each finding, of output that is concise and quiet."""
    rows = (line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    return [f"{place.rsplit(':', 1)[0]} {said.split()[0]}" for place, said in rows]


def check(*argv: str) -> int:
    return main(["check", "--format", "concise", "-q", *argv])


# What is checked, and the status


def test_without_a_path_all_below_the_working_directory_is_checked(
    files: Files, capsys: Captured
) -> None:
    files(a=FAULTY, sub__b=FAULTY, c=CLEAN, d_dot_ipynb=notebook(CLEAN, FAULTY))
    assert check() == 1
    assert found(capsys) == ["a.py:3 GL101", "d.ipynb:cell 3:3 GL101", "sub/b.py:3 GL101"]


def test_nothing_found_is_status_0_and_a_sentence(files: Files, capsys: Captured) -> None:
    files(a=CLEAN)
    assert main(["check", "a.py"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("The books balance: nothing found in 1 file.\n")
    assert err == ""


def test_a_path_that_is_not_there_is_one_sentence_and_status_2(capsys: Captured) -> None:
    assert main(["check", "nowhere.py"]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "nowhere.py" in err


BROKEN = 'print "x"\n'


@pytest.mark.parametrize(
    ("argv", "status"),
    [(["."], 1), (["a.py", "old.py"], 1), (["old.py"], 2), (["old.py", "c.py"], 2), (["c.py"], 0)],
)
def test_what_can_not_be_parsed_is_a_line_and_fails_where_it_was_named(
    argv: list[str], status: int, files: Files, capsys: Captured
) -> None:
    files(a=FAULTY, c=CLEAN, old=BROKEN)
    assert main(["check", *argv]) == status
    err = capsys.readouterr().err
    assert err.count("\n") == (argv != ["c.py"])
    assert ("old.py:1: not checked: it looks like Python 2" in err) == (argv != ["c.py"])


def test_a_broken_file_in_a_folder_is_told_and_does_not_fail(
    files: Files, capsys: Captured
) -> None:
    files(c=CLEAN, old=BROKEN)
    assert main(["check"]) == 0
    out, err = capsys.readouterr()
    assert "not checked" in err
    assert out.startswith("No fault found in what was followed")


@pytest.mark.parametrize(
    ("options", "rule", "status"),
    [
        ([], "GL101", 1),
        ([], "GL502", 1),
        ([], "GL204", 0),
        (["--fail-on", "error"], "GL502", 0),
        (["--fail-on", "error"], "GL101", 1),
        (["--fail-on", "info"], "GL204", 1),
        (["--exit-zero"], "GL101", 0),
    ],
)
def test_what_fails_is_as_bad_as_was_asked_for(
    options: list[str], rule: str, status: int, files: Files, capsys: Captured
) -> None:
    files(a=f"import torch\n{rule}_certain()\n")
    assert check(*options) == status
    assert found(capsys) == [f"a.py:2 {rule}"]


def test_exit_zero_does_not_hide_that_it_could_not_be_done(files: Files) -> None:
    files(old=BROKEN)
    assert main(["check", "--exit-zero", "old.py"]) == 2


# Which findings are shown


def test_likely_findings_are_shown_and_possible_ones_on_request(
    files: Files, capsys: Captured
) -> None:
    files(a="import torch\nGL101_possible()\nGL203_likely()\n")
    assert main(["check", "a.py"]) == 1
    assert "Hidden: 1 possible finding (--possible shows it)" in capsys.readouterr().out
    assert check("a.py") == 1
    assert found(capsys) == ["a.py:3 GL203"]
    assert check("--possible") == 1
    assert found(capsys) == ["a.py:2 GL101", "a.py:3 GL203"]


def test_rules_are_selected_and_ignored(files: Files, capsys: Captured) -> None:
    files(a="import torch\nGL101_certain()\nGL201_certain()\nGL301_certain()\n")
    check("--select", "GL1,GL2", "--ignore", "gradient-cleared-unspent")
    assert found(capsys) == ["a.py:2 GL101"]


def test_a_fault_that_is_met_from_several_files_is_one_finding(
    files: Files, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    from gradledger.ledger import Certainty, Finding, Place
    from gradledger.static.result import Checked
    from gradledger.static.runner.runner import Result

    def result(path: str, certainty: Certainty) -> Result:
        return Result(Checked((Finding("GL101", Place(path, 3), "does so", certainty),)))

    files(a=CLEAN, helper=FAULTY)
    absolute = str(Path("helper.py").resolve())
    results = [
        ("a.py", result(absolute, "possible")),
        ("helper.py", result("helper.py", "certain")),
    ]
    monkeypatch.setattr("gradledger.cli.checking.check_paths", lambda *_, **__: iter(results))
    assert check() == 1
    assert found(capsys) == ["helper.py:3 GL101"]


def test_comments_silence_and_are_counted_with_their_reasons(
    files: Files, capsys: Captured
) -> None:
    files(
        a="import torch\nGL101_certain()  # gradledger: ignore[GL101] so be it\nGL101_certain()\n",
        nb_dot_ipynb=notebook("1", "for x in y:  # gradledger: ignore\n    GL101_certain()"),
    )
    assert main(["check", "--format", "json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert [(f["path"], f["line"]) for f in said["findings"]] == [("a.py", 3)]
    assert [(s["path"], s["cell"], s["line"], s["reason"]) for s in said["suppressed"]] == [
        ("a.py", None, 2, "so be it"),
        ("nb.ipynb", 3, 2, ""),
    ]
    assert said["suppressed"][1]["by"] == {"path": "nb.ipynb", "cell": 3, "line": 1}
    assert said["stats"]["suppressed"] == 2
    main(["check"])
    assert "2 findings ignored by comments" in capsys.readouterr().out


def test_a_misspelt_ignore_is_told(files: Files, capsys: Captured) -> None:
    files(nb_dot_ipynb=notebook("1", "\nGL101_certain()  # gradledger: ignore[GL1001]"))
    assert check() == 1
    assert capsys.readouterr().err.startswith("nb.ipynb:cell 3:2: no rule is called 'GL1001'. Did")


def test_an_ignore_that_ignores_nothing_is_told_on_request(files: Files, capsys: Captured) -> None:
    files(
        a="import torch\nGL101_possible()  # gradledger: ignore[GL101]\n",
        b="import torch\ndeposit()  # gradledger: ignore[GL101]\n",
        c="x = 1  # gradledger: ignore[GL203]\n",
    )
    assert check() == 0
    assert capsys.readouterr().err == ""
    assert check("--report-unused-ignores") == 0
    assert capsys.readouterr().err == (
        "b.py:2: this ignore ignores nothing\nc.py:1: this ignore ignores nothing\n"
    )
    # Nobody asked about GL203.
    assert check("--report-unused-ignores", "--select", "GL101", "c.py") == 0
    assert capsys.readouterr().err == ""


# How it is shown


def test_the_json_is_what_the_schema_says(files: Files, capsys: Captured) -> None:
    files(
        a="import torch\nunknown()\nGL101_certain()\nGL101_certain()  # gradledger: ignore why\n",
        old=BROKEN,
        nb_dot_ipynb=notebook("GL203_likely()"),
    )
    assert main(["check", "--format", "json", "."]) == 1
    said = json.loads(capsys.readouterr().out)
    Draft202012Validator(SCHEMA).validate(said)
    assert said["subject"] == "."
    del said["stats"]["seconds"]
    assert said["stats"] == {
        "files": 3,
        "followed": 2,
        "unknown": 1,
        "not_checked": 1,
        "suppressed": 1,
        "baselined": 0,
        "unshown": 0,
    }


def test_what_is_unknown_is_counted_and_listed_on_request(files: Files, capsys: Captured) -> None:
    files(a="import torch\ndeposit()\nunknown()\n")
    assert main(["check"]) == 0
    assert "Not followed: train: it calls what is not there" in capsys.readouterr().out
    assert check("--unknown") == 0
    assert capsys.readouterr().out == "a.py:3: unknown: train: it calls what is not there\n"


def test_the_statistics_are_by_rule(files: Files, capsys: Captured) -> None:
    files(a="import torch\nGL201_certain()\nGL201_certain()\nGL101_certain()\n")
    assert main(["check", "--statistics", "-q"]) == 1
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert rows == [["2", "GL201"], ["1", "GL101"]]


@pytest.mark.parametrize(
    "format", ["text", "concise", "json", "github", "sarif", "gitlab", "rdjson"]
)
def test_every_format_goes_to_standard_output_or_to_a_file(
    format: str, files: Files, capsys: Captured, tmp_path: Path
) -> None:
    files(a=FAULTY)
    assert main(["check", "--format", format]) == 1
    out, err = capsys.readouterr()
    assert "GL101" in out
    assert err == ""
    assert main(["check", "--format", format, "--output", "report"]) == 1
    assert capsys.readouterr() == ("", "")
    written = (tmp_path / "report").read_text(encoding="utf-8")
    assert len(written.splitlines()) == len(out.splitlines())


def test_code_frames_are_of_the_file_or_the_cell(files: Files, capsys: Captured) -> None:
    files(nb_dot_ipynb=notebook("deposit()", "%time\nGL101_certain()"))
    main(["check"])
    out = capsys.readouterr().out
    assert "nb.ipynb:cell 3:2: GL101" in out
    assert "   2 | GL101_certain()" in out
    assert "deposited  nb.ipynb:cell 2:1  deposit()" in out


# Standard input


def feed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


@pytest.mark.parametrize(
    ("options", "path"), [([], "<stdin>"), (["--stdin-filename", "src/a.py"], "src/a.py")]
)
def test_standard_input_is_checked_under_its_name(
    options: list[str], path: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    feed(monkeypatch, f"{FAULTY}GL101_certain()  # gradledger: ignore\n")
    assert main(["check", "-", *options]) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"{path}:3: GL101")
    assert "   3 | GL101_certain()" in out
    assert "1 finding ignored" in out


def test_a_notebook_may_come_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    feed(monkeypatch, notebook(FAULTY))
    assert check("-", "--stdin-filename", "nb.ipynb") == 1
    assert found(capsys) == ["nb.ipynb:cell 2:3 GL101"]


def test_nonsense_from_standard_input_is_status_2(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    feed(monkeypatch, "def f(:\n")
    assert check("-") == 2
    assert capsys.readouterr().err.startswith("<stdin>:1: not checked: ")


# Options that make no sense


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--jobs", "0"], "--jobs must be at least 1, got 0"),
        (["--select", "GL999"], "no rule is called 'GL999'"),
        (["--select", "GL101", "--ignore", "GL1"], "no rule is left"),
        (["--stdin-filename", "a.py"], "Add -"),
        (["-", "a.py"], "checked alone"),
        (["--write-baseline"], "Add --baseline FILE"),
        (["--baseline", "."], "is a folder"),
        (["--statistics", "--format", "json"], "--statistics is for people"),
        (["--output", "no/such/folder/x"], "there is no folder"),
        (["--config", "none.toml"], "none.toml can't be read"),
        (["--formt", "json"], "has no --formt"),
        (["--format", "yaml"], "invalid choice: 'yaml'"),
        (["--fail-on", "panic"], "invalid choice: 'panic'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_that_make_no_sense_are_one_sentence_and_status_2(
    argv: list[str], said: str, files: Files, capsys: Captured
) -> None:
    files(a=FAULTY)
    assert main(["check", *argv]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err


# Long runs


def test_progress_is_shown_after_a_while_and_on_a_screen_only(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    from gradledger.cli import progress

    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    with progress.Progress("Checking") as tell:
        tell(1, 3)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.Progress("Checking") as tell:
        tell(1, 3)
        tell(2, 3)
    assert "Checking" in capsys.readouterr().err


def test_short_runs_have_no_progress(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    from gradledger.cli import progress

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.Progress("Checking") as tell:
        tell(1, 3)
    assert capsys.readouterr().err == ""
