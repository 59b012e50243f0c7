from __future__ import annotations

import json
from pathlib import Path

import pytest

from gradledger.cli import main
from tests.cli import fake_checker

Captured = pytest.CaptureFixture[str]

TEXT = """\
import torch
class Trainer:
    def fit(self):
        for x in y:
            GL101_certain()  # old
        GL301_certain()
"""


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_checker.install(monkeypatch)
    monkeypatch.chdir(tmp_path)
    write(TEXT)
    assert main(["check", "-q", "--baseline", "base.json", "--write-baseline"]) == 0


def write(text: str, path: str = "src/a.py") -> None:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text(text, encoding="utf-8")


def check(*argv: str) -> int:
    return main(["check", "--format", "concise", "-q", "--baseline", "base.json", *argv])


def test_the_file_can_be_read_and_merged_by_people() -> None:
    assert json.loads(Path("base.json").read_text(encoding="utf-8")) == {
        "version": 1,
        "findings": [
            {
                "rule": rule,
                "path": "src/a.py",
                "function": "Trainer.fit",
                "code": f"{rule}_certain()",
                "count": 1,
            }
            for rule in ("GL101", "GL301")
        ],
    }


def test_writing_says_how_many(capsys: Captured) -> None:
    assert main(["check", "--baseline", "new.json", "--write-baseline"]) == 0
    assert capsys.readouterr().out == "2 findings written to new.json.\n"


def test_what_was_there_before_is_silent_and_counted(capsys: Captured) -> None:
    assert check() == 0
    assert capsys.readouterr() == ("", "")
    assert main(["check", "--baseline", "base.json"]) == 0
    assert "2 in the baseline" in capsys.readouterr().out


def test_lines_may_move_and_comments_and_spaces_may_change(capsys: Captured) -> None:
    moved = TEXT.replace("# old", "  # still there").replace("import torch\n", "import torch\n\n\n")
    write(moved.replace("GL301_certain()", "GL301_certain() "))
    assert check() == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        GL301_certain()\n", "        GL301_certain()\n        GL301_certain()\n"),
        ("        GL301_certain()\n", "        GL301_certain()\ndef f():\n    GL301_certain()\n"),
        ("        GL301_certain()\n", "        GL301_certain()\n        x = GL301_certain()\n"),
        ("        GL301_certain()\n", "        GL301_certain()\n        GL401_certain()\n"),
    ],
    ids=["again", "elsewhere", "other code", "another rule"],
)
def test_what_is_new_is_found(old: str, new: str, capsys: Captured) -> None:
    write(TEXT.replace(old, new))
    assert check() == 1
    assert capsys.readouterr().out.count("\n") == 1


def test_the_same_code_in_another_file_is_new(capsys: Captured) -> None:
    write(TEXT, "src/b.py")
    assert check() == 1
    assert capsys.readouterr().out.count("src/b.py") == 2


def test_the_baseline_holds_from_every_folder(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir("src")
    assert main(["check", "-q", "--baseline", "../base.json"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_finding_in_a_notebook_is_known_again_in_another_cell() -> None:
    def save(*cells: str) -> None:
        code = [{"cell_type": "code", "source": text} for text in cells]
        Path("nb.ipynb").write_text(json.dumps({"cells": code, "nbformat": 4}), encoding="utf-8")

    fault = "def f():\n    GL101_certain()"
    save(fault)
    assert main(["check", "-q", "--baseline", "base.json", "--write-baseline"]) == 0
    save("x = 1\ny = 2", f"z = 3\n{fault}")
    assert check() == 0


def test_what_is_cured_is_told_once_it_was_looked_for(capsys: Captured) -> None:
    write("import torch\n")
    assert check() == 0
    assert capsys.readouterr().err == (
        "base.json: no longer found: GL101 at src/a.py in Trainer.fit: GL101_certain()\n"
        "base.json: no longer found: GL301 at src/a.py in Trainer.fit: GL301_certain()\n"
        "base.json: --write-baseline drops what is no longer found\n"
    )
    write("import torch\n", "src/b.py")
    assert check("src/b.py") == 0
    assert capsys.readouterr().err == ""
    assert check("--select", "GL3") == 0
    assert capsys.readouterr().err.count("no longer found:") == 1
    Path("src/a.py").unlink()
    assert check("src/b.py") == 0
    assert capsys.readouterr().err.count("no longer found:") == 2


def test_very_many_cured_findings_are_counted(capsys: Captured) -> None:
    write("import torch\n" + "".join(f"x{n} = GL101_certain()\n" for n in range(30)))
    assert main(["check", "-q", "--baseline", "base.json", "--write-baseline"]) == 0
    write("import torch\n")
    assert check() == 0
    err = capsys.readouterr().err
    assert "base.json: and 20 more that are no longer found\n" in err
    assert err.count("\n") == 12


def test_a_baseline_that_is_not_there_is_an_error_that_says_how_to_make_it(
    capsys: Captured,
) -> None:
    assert main(["check", "--baseline", "none.json"]) == 2
    assert "there is no baseline none.json. --write-baseline makes it" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is no JSON"),
        ("[" * 100_000, "it is no JSON"),
        ("[]", "its version is None"),
        ('{"version": 2, "findings": []}', "its version is 2"),
        ('{"version": 1}', "an entry lacks something"),
        ('{"version": 1, "findings": [3]}', "an entry lacks something"),
        ('{"version": 1, "findings": [{"rule": "GL101"}]}', "an entry lacks something"),
    ],
)
def test_what_is_no_baseline_is_an_error(text: str, said: str, capsys: Captured) -> None:
    Path("base.json").write_text(text, encoding="utf-8")
    assert check() == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_a_baseline_that_can_not_be_written_leaves_the_old_one(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    before = Path("base.json").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert main(["check", "--baseline", "base.json", "--write-baseline"]) == 2
    assert "No space left" in capsys.readouterr().err
    assert Path("base.json").read_bytes() == before
    assert [path.name for path in Path().iterdir() if path.name.startswith(".grad")] == []
