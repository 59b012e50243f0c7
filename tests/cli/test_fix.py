"""`gradledger check --fix` and `--diff`, with the real checker behind them."""

from __future__ import annotations

import io
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gradledger.cli import main
from gradledger.rules import find, programs

Captured = pytest.CaptureFixture[str]
BAD = "\n".join([*programs.bad(find("GL101")).lines, ""])
UNFIXABLE = "\n".join([*programs.bad(find("GL402")).lines, ""])
CLEAR = "        optimizer.zero_grad()\n"
(LINE,) = programs.bad(find("GL101")).marks
CURED = "".join(
    (CLEAR if number == LINE - 1 else "") + line
    for number, line in enumerate(BAD.splitlines(keepends=True), 1)
)


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_bytes(BAD.encode())


def text(path: str = "train.py") -> str:
    return Path(path).read_bytes().decode()


def test_fix_changes_the_file_and_shows_what_is_left(capsys: Captured) -> None:
    Path("other.py").write_text(UNFIXABLE, encoding="utf-8")
    assert main(["check", "--fix", "--format", "concise", "."]) == 1
    out, err = capsys.readouterr()
    assert (text(), text("other.py")) == (CURED, UNFIXABLE)
    assert out.startswith("other.py:")
    assert "GL101" not in out
    assert err == "train.py: fixed 1 finding: GL101\n"
    assert main(["check", "--fix", "-q", "train.py"]) == 0
    assert capsys.readouterr() == ("", "")
    assert text() == CURED


def test_diff_shows_a_patch_and_changes_nothing(capsys: Captured) -> None:
    assert main(["check", "--diff", "."]) == 1
    out, err = capsys.readouterr()
    assert text() == BAD
    assert out.startswith("--- train.py\n+++ train.py\n@@ ")
    assert f"+{CLEAR}" in out
    assert err == "1 of 1 finding would be fixed.\n"
    assert main(["check", "--diff", "--exit-zero", "-q", "."]) == 0
    Path("train.py").write_text(CURED, encoding="utf-8")
    capsys.readouterr()
    assert main(["check", "--diff", "."]) == 0
    assert capsys.readouterr() == ("", "Nothing to fix.\n")


def test_a_finding_without_a_cure_is_no_difference(capsys: Captured) -> None:
    Path("train.py").write_text(UNFIXABLE, encoding="utf-8")
    assert main(["check", "--diff", "."]) == 0
    assert capsys.readouterr() == ("", "0 of 1 finding would be fixed.\n")


@pytest.mark.skipif(not shutil.which("patch"), reason="needs patch")
@pytest.mark.parametrize("strange", ["\r\n", "no end"])
def test_the_patch_gives_what_fix_gives(strange: str, capsys: Captured) -> None:
    data = BAD.replace("\n", "\r\n") if strange == "\r\n" else BAD.rstrip("\n")
    Path("train.py").write_bytes(data.encode())
    assert main(["check", "--diff", "--output", "it.patch", "."]) == 1
    subprocess.run(["patch", "-p0", "--binary", "-i", "it.patch"], check=True, capture_output=True)
    by_patch = text()
    Path("train.py").write_bytes(data.encode())
    main(["check", "--fix", "."])
    assert text() == by_patch != data


@pytest.mark.parametrize(
    "argv",
    [
        ["--select", "GL2"],
        ["--ignore", "GL101"],
        ["--baseline", "known.json"],
    ],
)
def test_what_is_not_shown_is_not_fixed(argv: list[str]) -> None:
    main(["check", "--baseline", "known.json", "--write-baseline", "train.py"])
    assert main(["check", "--fix", *argv, "train.py"]) == 0
    assert text() == BAD


def test_what_a_comment_ignores_is_not_fixed() -> None:
    ignored = BAD.replace("optimizer.step()", "optimizer.step()  # gradledger: ignore[GL101] so")
    Path("train.py").write_text(ignored, encoding="utf-8")
    assert main(["check", "--fix", "train.py"]) == 0
    assert text() == ignored


def test_links_are_followed_and_permissions_kept() -> None:
    Path("real").mkdir()
    Path("train.py").rename("real/it.py")
    os.chmod("real/it.py", 0o750)
    os.symlink("real/it.py", "train.py")
    assert main(["check", "--fix", "train.py"]) == 0
    assert Path("train.py").is_symlink()
    assert text("real/it.py") == CURED
    assert stat.S_IMODE(os.stat("real/it.py").st_mode) == 0o750
    assert os.listdir("real") == ["it.py"]


def test_a_file_that_is_read_only_stays_as_it_is(capsys: Captured) -> None:
    os.chmod("train.py", 0o444)
    assert main(["check", "--fix", "-q", "train.py"]) == 1
    assert capsys.readouterr().err == "train.py: not fixed: it is read-only\n"
    assert text() == BAD


def test_standard_input_goes_to_standard_output(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stdin(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    stdin(BAD)
    assert main(["check", "--fix", "-", "--stdin-filename", "train.py"]) == 0
    out, err = capsys.readouterr()
    assert out == CURED
    assert err.startswith("train.py: fixed 1 finding: GL101\nThe books balance")
    stdin(UNFIXABLE)
    assert main(["check", "--fix", "-q", "-"]) == 1
    out, err = capsys.readouterr()
    assert out == UNFIXABLE
    assert "GL402" in err
    stdin(BAD)
    assert main(["check", "--diff", "-q", "-"]) == 1
    assert capsys.readouterr().out.startswith("--- <stdin>\n")
    assert text() == BAD


@pytest.mark.parametrize(
    "argv",
    [
        ["--fix", "--diff"],
        ["--fix", "--write-baseline", "--baseline", "x"],
        ["--diff", "--format", "json"],
        ["--diff", "--statistics"],
    ],
)
def test_options_that_make_no_sense_together_are_told(argv: list[str], capsys: Captured) -> None:
    assert main(["check", *argv, "train.py"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert text() == BAD


def test_a_check_without_fixes_does_not_load_them() -> None:
    code = (
        "import sys; from gradledger.cli import main; main(['check', 'train.py']); "
        "sys.exit(any('fixing' in name for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.parametrize("format", ["rdjson", "sarif"])
def test_programs_get_the_edit_with_the_finding(
    format: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.server.programs import WRONG

    path = tmp_path / "train.py"
    path.write_text(WRONG)
    assert main(["check", "--format", format, str(path)]) == 1
    assert '"text": "    optimizer.zero_grad()\\n"' in capsys.readouterr().out
    assert path.read_text() == WRONG
