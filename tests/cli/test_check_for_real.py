"""The command with the real checker behind it, in a process of its own where that matters."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gradledger
from gradledger.cli import main
from gradledger.rules import find, programs
from gradledger.static.runner.cache_folder import cache_folder

Captured = pytest.CaptureFixture[str]
BAD, GOOD = (kind(find("GL101")) for kind in (programs.bad, programs.good))
(LINE,) = BAD.marks


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def write(path: str, lines: list[str]) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text("\n".join([*lines, ""]), encoding="utf-8")


def run(*argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gradledger", "check", *argv],
        input=stdin,
        capture_output=True,
        text=True,
    )


def test_a_faulty_program_fails_and_a_cured_one_does_not(capsys: Captured) -> None:
    write("bad.py", list(BAD.lines))
    write("good.py", list(GOOD.lines))
    assert main(["check", "--format", "concise", "-q", "."]) == 1
    assert capsys.readouterr().out.startswith(f"bad.py:{LINE}:")
    assert main(["check", "good.py"]) == 0
    assert capsys.readouterr().out.startswith("The books balance")


def test_a_comment_silences_the_finding_of_a_real_program(capsys: Captured) -> None:
    lines = list(BAD.lines)
    lines[LINE - 1] += "  # gradledger: ignore[GL101] to see it swing"
    write("bad.py", lines)
    assert main(["check", "."]) == 0
    assert "1 finding ignored by comments" in capsys.readouterr().out


def test_a_notebook_is_followed_from_cell_to_cell(capsys: Captured) -> None:
    half = next(n for n, line in enumerate(BAD.lines) if line.startswith("for "))
    sources = ["\n".join(["%matplotlib inline", *BAD.lines[:half]]), "\n".join(BAD.lines[half:])]
    cells = [{"cell_type": "code", "source": source} for source in sources]
    cells.insert(1, {"cell_type": "markdown", "source": "# Train"})
    Path("nb.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}), encoding="utf-8")
    assert main(["check", "--format", "concise", "-q"]) == 1
    assert capsys.readouterr().out.startswith(f"nb.ipynb:cell 3:{LINE - half}:")


def test_standard_input_is_read() -> None:
    done = run("-", "--stdin-filename", "x.py", "-q", stdin="\n".join(BAD.lines))
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith(f"x.py:{LINE}: GL101")


STRANGE = {
    "utf16.py": "import torch\n".encode("utf-16"),
    "nul.py": b"import torch\nx.backward()\0\n",
    "old.py": b'import torch\nloss.backward()\nprint "x"\n',
    "latin.py": b"import torch\nloss.backward()  # \xe9\n",
    "deep.py": b"import torch\nloss.backward()\nx = " + b"(" * 5_000 + b")" * 5_000 + b"\n",
    "nb.ipynb": b'{"cells": [torch, backward',
}


@pytest.mark.parametrize("name", STRANGE)
def test_strange_files_are_one_line_each_and_the_rest_is_checked(
    name: str, capsys: Captured
) -> None:
    Path(name).write_bytes(STRANGE[name])
    write("bad.py", list(BAD.lines))
    assert main(["check", "--no-cache", "--format", "concise", "-q", "."]) == 1
    assert capsys.readouterr().out.startswith(f"bad.py:{LINE}:")
    assert main(["check", "--no-cache", name]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"{name}:")
    assert ": not checked: " in err
    assert err.count("\n") == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_a_file_that_may_not_be_read_is_told(capsys: Captured) -> None:
    write("secret.py", list(BAD.lines))
    os.chmod("secret.py", 0)
    assert main(["check", "secret.py"]) == 2
    assert "not checked: it can't be read" in capsys.readouterr().err


def test_many_files_in_several_processes_say_the_same_as_in_one(capsys: Captured) -> None:
    for number in range(30):
        write(f"p{number:02}/t.py", list((BAD if number % 3 else GOOD).lines))
    outputs = []
    for argv in (["--jobs", "1", "--no-cache"], ["--jobs", "2", "--no-cache"], [], []):
        assert main(["check", "--format", "concise", *argv]) == 1
        outputs.append(capsys.readouterr())
    assert outputs[0].out.count("GL101") == 20
    assert all(output == outputs[0] for output in outputs)


def test_a_closed_pipe_is_silent() -> None:
    write("bad.py", list(BAD.lines))
    process = subprocess.Popen(
        [sys.executable, "-m", "gradledger", "check", "bad.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate()
    assert (process.returncode, err) == (141, "")


HELPER = ["import torch", "def update(optimizer):", "    optimizer.step()"]
TRAIN = """\
import torch
from pkg.helper import update

model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in loader:
    model(x).sum().backward()
    update(optimizer)
"""


@pytest.mark.parametrize("path", [".", "pkg", "./pkg", "pkg/train.py", "../{here}/pkg", "{whole}"])
def test_a_fault_in_another_file_is_one_finding_however_the_files_are_named(
    path: str, capsys: Captured, tmp_path: Path
) -> None:
    path = path.format(here=tmp_path.name, whole=tmp_path / "pkg")
    write("pkg/__init__.py", [])
    write("pkg/helper.py", HELPER)
    write("pkg/train.py", TRAIN.splitlines())
    assert main(["check", "--format", "concise", "-q", path]) == 1
    out = capsys.readouterr().out
    assert out.startswith("pkg/helper.py:3:5: GL101")
    assert out.count("\n") == 1
    write("pkg/helper.py", [*HELPER[:2], f"{HELPER[2]}  # gradledger: ignore[GL101]"])
    assert main(["check", "-q", "--report-unused-ignores", path]) == 0
    assert capsys.readouterr() == ("", "")


SLOW_TO_LOAD = {
    *("typing", "dataclasses", "argparse", "pathlib", "json", "sqlite3", "hashlib", "tomllib"),
    *("multiprocessing", "concurrent", "subprocess", "inspect", "rich", "torch", "numpy"),
}
"""Each takes longer to load than a small file to check."""


def test_a_small_file_that_is_good_is_checked_with_little_loaded() -> None:
    write("good.py", list(GOOD.lines))
    code = (
        "import sys; before = set(sys.modules); from gradledger.cli import main; "
        "status = main(['check', 'good.py']); print(status, *set(sys.modules) - before)"
    )
    # Without site: what is installed here may load anything when Python starts.
    said = subprocess.run(
        [sys.executable, "-S", "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(gradledger.__file__).parent.parent)},
    )
    status, *loaded = said.stdout.splitlines()[-1].split()
    assert status == "0"
    assert SLOW_TO_LOAD.isdisjoint(loaded)
    assert "gradledger.static.check" in loaded


def test_a_cache_with_wrong_content_is_one_line_and_the_status_stays(capsys: Captured) -> None:
    for number in range(20):
        write(f"p{number:02}/t.py", list((BAD if number % 3 else GOOD).lines))
        os.utime(f"p{number:02}/t.py", (1_000_000, 1_000_000))
    assert main(["check", "--format", "concise"]) == 1
    first = capsys.readouterr()
    for file in Path(cache_folder()).glob("check-*"):
        whole = file.read_bytes()
        file.write_bytes(whole.replace(b"GL101", b"GL999"))
    assert main(["check", "--format", "concise"]) == 1
    again = capsys.readouterr()
    assert again.out == first.out
    assert again.err.count("\n") == 1
    assert "check-" in again.err
    assert "is ignored: it is damaged" in again.err


def test_a_cache_in_the_project_changes_nothing(
    capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        write(f"p{number:02}/t.py", list((BAD if number % 3 else GOOD).lines))
        os.utime(f"p{number:02}/t.py", (1_000_000, 1_000_000))
    assert main(["check", "--format", "concise"]) == 1
    first = capsys.readouterr()
    # The user's own, as the project's; with nothing in it but promises.
    shutil.move(cache_folder(), tmp_path / ".cache" / "gradledger")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    assert main(["check", "--format", "concise"]) == 1
    again = capsys.readouterr()
    assert again.out == first.out
    assert again.err.count("\n") == 1
    assert "it is inside the project" in again.err
