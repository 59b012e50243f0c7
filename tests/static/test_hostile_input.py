"""Input that was made to hang or to crash: a result or one clear line, whatever it is.

Each runs in a process of its own. The bound is generous: what is tested took minutes, or for ever.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradledger.static.domain.scopes import TOO_MUCH

PATIENCE = 60
TRAINS = """\
import torch
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in data:
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
"""
FUNCTION = """\
import torch
def train(model, data):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
"""
WORDS = "loss.backward() optimizer.step() zero_grad()"
TABLE = "[tool.gradledger]\n"


def notebook(*cells: str) -> str:
    code = [{"cell_type": "code", "source": cell} for cell in cells]
    return json.dumps({"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def classes(body: str, numbers: range) -> str:
    return "".join(f"class C{number}: {body}\n" for number in numbers)


def chain(length: int) -> str:
    others = "".join(f"class C{n}(C{n - 1}): pass\n" for n in range(1, length))
    return f"class C0: pass\n{others}C{length - 1}().train(model)\n"


def grid(levels: int, width: int) -> str:
    """Each class has all those of the level before as its bases."""
    lines = [f"class L0C{n}: pass" for n in range(width)]
    for level in range(1, levels):
        bases = ", ".join(f"L{level - 1}C{n}" for n in range(width))
        lines += [f"class L{level}C{n}({bases}): pass" for n in range(width)]
    return "\n".join([*lines, f"L{levels - 1}C0().train(model)", ""])


def function(number: int) -> str:
    return f"def f{number}(model, optimizer):\n    model().backward()\n    optimizer.step()\n"


def attributes(number: int) -> str:
    layers = "".join(f"        self.a{n} = torch.nn.Linear(1, 1)\n" for n in range(number))
    return f"class Net(torch.nn.Module):\n    def __init__(self):\n{layers}{METHOD}"


def group(number: int) -> str:
    return f"{{'params': model.m{number}.parameters()}}"


def groups(number: int) -> str:
    return f"[{', '.join(map(group, range(number)))}]"


METHOD = """\
        self.optimizer = torch.optim.SGD(self.a0.parameters(), lr=0.1)
    def fit(self, x):
        self.a0(x).backward()
        self.optimizer.step()
"""
BASES = f"class D({', '.join(f'C{number}' for number in range(3_000))}): pass\nD().train(model)\n"

FOUND: dict[str, dict[str, str]] = {
    "stars in a gitignore": {"t.py": TRAINS, ".gitignore": ("*a" * 2_000 + "*b\n") * 20},
    "folders in a gitignore": {"t.py": TRAINS, ".gitignore": "**/" * 500 + "b\n"},
    "spaces in a gitignore": {"t.py": TRAINS, ".gitignore": "a" + " " * 1_000_000 + "\n"},
    "a large gitignore": {"t.py": TRAINS, ".gitignore": "*a*b*c\n" * 200_000},
    "an exclude": {"t.py": TRAINS, "pyproject.toml": f'{TABLE}exclude = ["{"*a" * 60}*b"]\n'},
    "blank lines in a cell": {"t.ipynb": notebook("\n" * 100_000 + TRAINS)},
    "cell magics": {"t.ipynb": notebook("%%time\n" * 1_200 + TRAINS)},
    "unknown cell magics": {"t.ipynb": notebook("%%odd\n" * 1_200 + TRAINS)},
    "broken cells": {"t.ipynb": notebook(*["x = = 1"] * 2_000, TRAINS)},
    "a docstring": {"t.py": f'"""{(WORDS + chr(10)) * 30_000}"""\n{TRAINS}'},
    "a docstring of one line": {"t.py": f'"""{WORDS * 30_000}"""\n{TRAINS}'},
    "mistakes in a comment": {"t.py": f"{TRAINS}x = 1  # gradledger: ignore[{'GLX,' * 20_000}]\n"},
    "many bases": {"t.py": FUNCTION + classes("pass", range(3_000)) + BASES},
    "a chain of bases": {"t.py": FUNCTION + chain(3_000)},
    "bases of bases": {"t.py": FUNCTION + grid(9, 20)},
    "dots in an import": {"t.py": f"import {'.'.join(['a'] * 4_000)}\n{TRAINS}"},
    "many comments": {"t.py": FUNCTION + "x = 1  # gradledger: ignore[GL203] why\n" * 50_000},
    "many functions": {"t.py": FUNCTION + "".join(map(function, range(10_000)))},
    "many attributes": {"t.py": FUNCTION + attributes(2_300)},
    "many groups": {"t.py": TRAINS.replace("model.parameters()", groups(5_000), 1)},
    "a word in a comment": {"t.py": f"{TRAINS}x = 1  # gradledger: {'ignor' * 20_000}\n"},
}


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkdir(".git")


def write(files: dict[str, str]) -> None:
    for path, text in files.items():
        Path(path).write_text(text, encoding="utf-8")


def check(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gradledger", "check", "--jobs", "1", *argv],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.mark.parametrize("files", FOUND.values(), ids=FOUND)
def test_the_fault_is_found_all_the_same(files: dict[str, str]) -> None:
    write(files)
    done = check("--format", "concise")
    assert done.returncode == 1, done.stderr
    assert "GL101" in done.stdout


@pytest.mark.parametrize(
    "value",
    [
        f"select = {'[' * 3_000}{']' * 3_000}",
        f"select = {'{a = ' * 3_000}1{'}' * 3_000}",
        f"{'.'.join('a' * 20_000)} = 1",
        f"select = ['{'a' * 400_000}']",
        f"select = ['{'a' * 4_000_000}']",
        f"jobs = {'9' * 100_000}",
    ],
    ids=["lists", "tables", "a key", "a long rule", "a large file", "a number"],
)
def test_a_configuration_that_can_not_be_read_is_one_line(value: str) -> None:
    write({"t.py": TRAINS, "pyproject.toml": f"{TABLE}{value}\n"})
    done = check()
    assert done.returncode == 2
    assert done.stderr.startswith("gradledger: pyproject.toml")
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 500


@pytest.mark.parametrize(
    "line",
    [
        f"from {'.' * 60_000} import x",
        f"from{' ' * 200_000}t import x",
        f"from .t{' ' * 200_000}import x",
        f"import{' ' * 200_000}t",
    ],
    ids=["dots", "spaces", "spaces behind", "a plain import"],
)
def test_a_fix_is_shown_beside_any_import(line: str) -> None:
    write({"t.py": TRAINS, "other.py": f"{line}\n"})
    done = check("--diff", ".")
    assert done.returncode == 1, done.stderr
    assert "+    optimizer.zero_grad()" in done.stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("name", ["helper.py", ".gitignore", "pyproject.toml", ".git"])
@pytest.mark.parametrize("kind", ["a pipe", "a device"])
def test_no_pipe_and_no_device_is_read(name: str, kind: str) -> None:
    os.rmdir(".git")
    write({"t.py": f"from helper import run\n{TRAINS}    run(model)\n"})
    if kind == "a pipe":
        os.mkfifo(name)
    else:
        os.symlink("/dev/zero", name)
    done = check("--format", "concise")
    assert done.returncode == 1, done.stderr
    assert "t.py:8" in done.stdout


TOO_LONG = {
    "a long import": f"import {'.'.join(['a'] * 100_000)}\n{TRAINS}",
    "an import of many lines": "import " + ".\\\n".join(["a"] * 100_000) + f"\n{TRAINS}",
    "a long list": f"{TRAINS}x = [{', '.join(map(str, range(500_000)))}]\n",
    "a long f-string": f"{TRAINS}x = f'{'{loss} ' * 30_000}'\n",
}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            text,
            id=name,
            marks=pytest.mark.skipif(
                name == "a long f-string" and sys.version_info >= (3, 12),
                reason="this Python reads it in no time",
            ),
        )
        for name, text in TOO_LONG.items()
    ],
)
def test_what_python_itself_takes_too_long_to_read_is_not_checked(text: str) -> None:
    write({"t.py": text})
    done = check("t.py")
    assert done.returncode == 2
    assert "t.py: not checked: " in done.stderr + done.stdout
    assert "too long" in done.stderr + done.stdout


def test_many_braces_outside_of_f_strings_are_read() -> None:
    write({"t.py": f"{TRAINS}x = '{'{loss} ' * 30_000}'\ny = f'{{loss}}'  # f'{'{' * 30_000}'\n"})
    assert "GL101" in check("--format", "concise", "t.py").stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("option", ["--baseline", "--config"])
def test_a_pipe_that_nobody_writes_to_is_not_waited_for(option: str) -> None:
    write({"t.py": TRAINS})
    os.mkfifo("pipe")
    done = check(option, "pipe", "t.py")
    assert done.returncode == 2
    assert "pipe can't be read: it is a device or a pipe, not a file." in done.stderr
    assert done.stderr.count("\n") == 1


MUCH = {
    "sums": FUNCTION.replace("loss.backward", "@loss.backward").replace(
        "@", "".join(f"total{n} += loss\n        " for n in range(1_500))
    ),
    "operands": FUNCTION.replace("model(x).sum()", "model(x)" + " and x" * 20_000),
}


@pytest.mark.parametrize("text", MUCH.values(), ids=MUCH)
def test_what_takes_too_much_work_is_told(text: str) -> None:
    write({"t.py": text})
    told = json.loads(check("--format", "json", "t.py").stdout)
    assert [unknown["why"] for unknown in told["unknown"]] == [TOO_MUCH]
