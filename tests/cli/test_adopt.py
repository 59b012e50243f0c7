"""`gradledger adopt`, with the real checker behind it."""

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

Captured = pytest.CaptureFixture[str]

PROGRAM = """\
import sys

import torch
from torch import nn

data = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(6)]
model = nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
for x, y in data:
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
open("arguments", "a").write(f"{sys.argv} {__file__}\\n")
"""
REWRITTEN = """\
import sys

import torch
from torch import nn
from gradledger import Stepper

data = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(6)]
model = nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
stepper = Stepper(model, optimizer)
for x, y in stepper.over(data):
    loss = nn.functional.mse_loss(model(x), y)
    stepper.backward(loss)
open("arguments", "a").write(f"{sys.argv} {__file__}\\n")
"""
REFUSED = PROGRAM.replace("    optimizer.step()\n", "    print(model(x))\n    optimizer.step()\n")


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(PROGRAM, encoding="utf-8")


def text(path: str = "train.py") -> str:
    return Path(path).read_bytes().decode()


def test_the_diff_is_shown_and_nothing_is_changed_or_run(capsys: Captured) -> None:
    assert main(["adopt", "train.py"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("--- train.py\n+++ train.py\n@@ ")
    assert "+    stepper.backward(loss)\n" in out
    assert err.startswith("train.py: the loop on line 9 is rewritten, and checked again.\n  - ")
    assert main(["adopt", "-q", "train.py"]) == 1
    assert capsys.readouterr() == (out, "")
    assert text() == PROGRAM
    assert os.listdir() == ["train.py"]


@pytest.mark.skipif(not shutil.which("patch"), reason="needs patch")
def test_the_patch_gives_what_write_gives(capsys: Captured) -> None:
    main(["adopt", "-q", "train.py"])
    Path("it.patch").write_text(capsys.readouterr().out, encoding="utf-8")
    subprocess.run(["patch", "-p0", "-i", "it.patch"], check=True, capture_output=True)
    assert text() == REWRITTEN


def test_write_changes_the_file_where_its_link_leads_and_keeps_its_permissions(
    capsys: Captured,
) -> None:
    Path("real").mkdir()
    Path("train.py").rename("real/it.py")
    os.chmod("real/it.py", 0o750)
    os.symlink("real/it.py", "train.py")
    assert main(["adopt", "--write", "-q", "train.py"]) == 0
    assert capsys.readouterr() == ("", "")
    assert text("real/it.py") == REWRITTEN
    assert Path("train.py").is_symlink()
    assert stat.S_IMODE(os.stat("real/it.py").st_mode) == 0o750
    assert os.listdir("real") == ["it.py"]


def test_a_file_that_is_read_only_stays_as_it_is(capsys: Captured) -> None:
    os.chmod("train.py", 0o444)
    assert main(["adopt", "--write", "-q", "train.py"]) == 2
    assert capsys.readouterr().err == "train.py: not rewritten: it is read-only\n"
    assert text() == PROGRAM


def test_standard_input_is_shown_or_goes_to_standard_output(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stdin() -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PROGRAM.encode())))

    stdin()
    assert main(["adopt", "-"]) == 1
    assert capsys.readouterr().out.startswith("--- <stdin>\n+++ <stdin>\n")
    stdin()
    assert main(["adopt", "--write", "-q", "-"]) == 0
    assert capsys.readouterr() == (REWRITTEN, "")


@pytest.mark.parametrize("write", [[], ["--write"]])
def test_what_is_refused_is_one_sentence(capsys: Captured, write: list[str]) -> None:
    Path("train.py").write_text(REFUSED, encoding="utf-8")
    assert main(["adopt", *write, "train.py"]) == 2
    said = "line 13 uses model between backward() and step(), which become one call"
    assert capsys.readouterr() == ("", f"train.py: not rewritten: {said}.\n")
    assert text() == REFUSED


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["missing.py"], "missing.py: not rewritten: it can't be read: No such file"),
        (["train.py", "other.py"], "adopt takes one file."),
        (["--compare", "-"], "--compare runs a file"),
        (["--compare", "--seconds", "0", "train.py"], "--seconds must be more than 0, got 0."),
        (["--writ", "train.py"], "Did you mean --write?"),
        ([], "FILE"),
    ],
)
def test_what_makes_no_sense_is_said(capsys: Captured, argv: list[str], said: str) -> None:
    assert main(["adopt", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_nothing_of_torch_is_loaded_to_rewrite_a_file() -> None:
    program = (
        "import sys\nfrom gradledger.cli import main\nmain(['adopt', '-q', 'train.py'])\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# Comparing ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_both_programs_are_run_with_their_arguments_and_compared(capsys: Captured) -> None:
    assert main(["adopt", "--compare", "-q", "train.py", "--", "--epochs", "1"]) == 1
    assert capsys.readouterr().err == "compared: 2 parameters end the same, bit for bit.\n"
    told = [f"['train.py', '--epochs', '1'] {os.path.abspath('train.py')}"] * 2
    assert text("arguments").splitlines() == told
    assert text() == PROGRAM


@pytest.mark.slow
def test_programs_that_end_apart_are_not_the_same_and_nothing_is_written(capsys: Captured) -> None:
    short = PROGRAM.replace("for x, y in data:", "for i, (x, y) in enumerate(data):")
    short = short.replace("    optimizer.zero_grad()\n    loss", "    loss = loss / 4\n    loss")
    step = "    if (i + 1) % 4 == 0:\n        optimizer.step()\n        optimizer.zero_grad()\n"
    short = short.replace("    optimizer.step()\n", step)
    Path("train.py").write_text(short, encoding="utf-8")
    assert main(["adopt", "--compare", "--write", "-q", "train.py"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("not the same: the largest difference of 2 parameters is ")
    assert line.endswith("They are expected to differ if a pass doesn't fill its last window.")
    assert text() == short


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("raise SystemExit(3)", "the program ended with 3"),
        ("raise ValueError('no data')", "the program ended with 1: ValueError: no data"),
        ("import threading; threading.Event().wait()", "the program took longer than 2 seconds"),
    ],
)
def test_what_keeps_programs_from_their_end_is_said(more: str, said: str, capsys: Captured) -> None:
    Path("train.py").write_text(f"{PROGRAM}{more}\n", encoding="utf-8")
    seconds = ["--seconds", "2"] if "2 seconds" in said else []
    assert main(["adopt", "--compare", "-q", *seconds, "train.py"]) == 2
    assert capsys.readouterr().err.startswith(f"not compared: {said}")
