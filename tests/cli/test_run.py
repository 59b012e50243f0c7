"""Most programs here import no torch: `run` does not load it for them, so they are quick."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gradledger.cli import main
from gradledger.cli.run import add_arguments, split
from gradledger.ledger.events import RunEnd
from gradledger.recording import Recording
from gradledger.rules import find, programs

NOTHING = "script.py made no backward pass, so there was nothing to audit.\n"


def gradledger(*words: str, at: Path, **options: str) -> subprocess.CompletedProcess[str]:
    """`gradledger run` with these words."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    return subprocess.run(
        [sys.executable, "-m", "gradledger", "run", *words],
        cwd=at,
        env={**kept, "OMP_NUM_THREADS": "1", **options},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "script.py").write_text("import sys\nprint(sys.argv)\n")
    return tmp_path


# What is ours, and what is the script's


@pytest.mark.parametrize(
    ("line", "ours", "theirs"),
    [
        ("train.py", "", "train.py"),
        ("train.py --format json -q --", "", "train.py --format json -q --"),
        ("--format json -q train.py -q", "--format json -q", "train.py -q"),
        ("--format=json train.py --help", "--format=json", "train.py --help"),
        ("-m package.train -m x", "", "-m package.train -m x"),
        ("--fail-on error -mtrain --fail-on x", "--fail-on error", "-mtrain --fail-on x"),
        ("-q -- --odd.py -- x", "-q", "--odd.py -- x"),
        ("--output -m train.py", "--output -m", "train.py"),
        ("--output", "--output", ""),
        ("--help train.py", "--help", "train.py"),
        ("- x", "", "- x"),
        ("", "", ""),
    ],
)
def test_options_before_the_script_are_ours_and_all_else_is_its_own(
    line: str, ours: str, theirs: str
) -> None:
    assert split(line.split()) == (ours.split(), theirs.split())


def test_the_split_knows_every_option_that_has_a_value() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    for action in parser._actions:
        for option in action.option_strings:
            words = [option, "value", "script.py"]
            kept = 1 if action.nargs == 0 else 2
            assert split(words) == (words[:kept], words[kept:])


def test_the_arguments_of_the_script_reach_it_untouched(folder: Path) -> None:
    words = ["script.py", "--format", "json", "-q", "--", "--s", "-m", "", "a b", "--version"]
    done = gradledger("--fail-on", "warning", *words, at=folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{words}\n", NOTHING)


def test_the_help_alone_is_enough_to_use_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    shown = capsys.readouterr().out
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    assert all(action.help and action.option_strings[0] in shown for action in parser._actions)
    assert all(word in shown for word in ("-m package.train", "torchrun", "exit status"))


# What can't be started: one line, status 2, and the script has not run


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "there is nothing to run"),
        (["-q"], "there is nothing to run"),
        (["-m"], "there is nothing to run"),
        (["--epochs", "3", "script.py"], "Options of the script itself come after it"),
        (["--form", "json", "script.py"], "gradledger run has no --form"),
        (["--format", "yaml", "script.py"], "invalid choice: 'yaml'"),
        (["--sample", "0", "script.py"], "--sample must be at least 1, got 0"),
        (["--select", "GL1O1", "script.py"], "Did you mean GL101"),
        (["--select", "GL1", "--ignore", "GL1", "script.py"], "leaves no rule"),
        (["--output", "nowhere/verdict", "script.py"], "--output: there is no folder "),
        (["--output", ".", "script.py"], "is a folder. Name a file in it"),
        (["--record", "nowhere/run", "script.py"], "--record: there is no folder "),
        (["--output", "/proc/verdict", "script.py"], "can't be written"),
        (["--log", "mlflow", "--log", "tensorboard", "script.py"], "--log takes one tracker, got "),
        (["nowhere.py"], "nowhere.py does not exist. It was looked for in "),
        (["scrpt.py"], "scrpt.py does not exist. Did you mean `gradledger run script.py`?"),
        (["--fromat", "json", "script.py"], "Did you mean --format?"),
        (["--fail_on=error", "script.py"], "Did you mean --fail-on?"),
        (
            ["a b.ipynb", "--epochs", "3"],
            "a b.ipynb is a notebook, which takes no arguments: '--epochs 3' can't be given to it.",
        ),
        (["a b.ipynb"], "a b.ipynb can't be run: it has no cells."),
        (
            ["old.ipynb"],
            "old.ipynb can't be run: it is of nbformat 3: open and save it in Jupyter.",
        ),
        (["plain.ipynb"], "plain.ipynb isn't a notebook: line 1 isn't JSON, Expecting value."),
        (["bytes.ipynb"], "bytes.ipynb isn't a notebook: it isn't JSON."),
        (["cells.ipynb"], "cells.ipynb can't be run: its cells are no JSON objects."),
        (["bare.ipynb"], "bare.ipynb can't be run: it doesn't say which nbformat it is of."),
        (["r.ipynb"], "r.ipynb is a notebook for R, and gradledger audits Python."),
        (["src"], "Name a script in it, as in `gradledger run src/train.py`."),
        (["bare"], "bare is a folder without a __main__.py. Name a script, as in `gradledger run "),
        (["train.sh"], "as in `gradledger run -m package.train --lr $LR`."),
        (["launch.sh"], "as in `gradledger run torchrun --nproc_per_node 2 train.py`."),
        (["nothing.sh"], "Name the Python script that it starts"),
        (["broken.py"], "broken.py is not valid Python: line 1: "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_can_not_be_started_gets_one_line(
    words: list[str],
    why: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "broken.py").write_text("print(")
    (folder / "a b.ipynb").write_text("{}")
    (folder / "old.ipynb").write_text('{"worksheets": []}')
    (folder / "plain.ipynb").write_text("import torch")
    (folder / "bytes.ipynb").write_bytes(b'{"\xff": 1}')
    (folder / "cells.ipynb").write_text('{"cells": [1], "nbformat": 4}')
    (folder / "bare.ipynb").write_text('{"cells": [{"cell_type": "code", "source": "1"}]}')
    (folder / "r.ipynb").write_text(
        '{"cells": [], "nbformat": 4, "metadata": {"kernelspec": {"language": "R"}}}'
    )
    (folder / "src").mkdir()
    (folder / "bare").mkdir()
    for name in ("model.py", "train.py"):
        (folder / "src" / name).write_text("")
    (folder / "train.sh").write_text("#!/bin/bash\n# python x\npython3 -m package.train --lr $LR\n")
    (folder / "launch.sh").write_text("torchrun --nproc_per_node 2 \\\n  train.py\n")
    (folder / "nothing.sh").write_text("#!/bin/sh\necho hello\n")
    monkeypatch.chdir(folder)
    assert main(["run", *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("gradledger: ")
    assert err.count("\n") == 1
    assert why in err


def test_a_module_that_is_not_there_gets_one_line(folder: Path) -> None:
    done = gradledger("-m", "nowhere", at=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gradledger: nowhere can't be run: No module named nowhere.\n"


# A script without a backward


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("", 0),
        ("raise SystemExit(3)", 3),
        ("import os; os._exit(4)", 4),
        ("import gradledger; raise gradledger.GradledgerError('of the script')", 1),
        ("raise KeyboardInterrupt", -2),
    ],
)
def test_a_script_that_never_calls_backward_gets_one_sentence_and_keeps_its_status(
    source: str, status: int, folder: Path
) -> None:
    (folder / "script.py").write_text(source)
    done = gradledger("--fail-on", "warning", "script.py", at=folder)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.endswith(NOTHING)
    assert ("Traceback" in done.stderr) == (status in (1, -2))
    assert "cli" not in done.stderr


def test_programs_that_read_the_verdict_find_one_even_then(folder: Path) -> None:
    done = gradledger("--format", "json", "--output", "v.json", "script.py", at=folder)
    assert done.stdout == "['script.py']\n"
    assert done.stderr == NOTHING
    assert json.loads((folder / "v.json").read_text())["findings"] == []


def test_what_the_script_printed_comes_before_a_verdict_on_stdout(folder: Path) -> None:
    done = gradledger("--format", "json", "script.py", at=folder)
    first, verdict = done.stdout.split("\n", 1)
    assert first == "['script.py']"
    assert json.loads(verdict)["findings"] == []


# With torch, for real


@pytest.mark.slow
def test_gradients_that_are_written_by_hand_are_audited_without_a_backward_pass(
    tmp_path: Path,
) -> None:
    (tmp_path / "script.py").write_text(
        "import torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "optimizer = torch.optim.SGD([x], lr=0.1)\n"
        "for _ in range(5):\n"
        "    optimizer.zero_grad()\n"
        "    x.grad = torch.autograd.grad(x.square().sum(), x)[0]\n"
        "    optimizer.step()\n"
    )
    done = gradledger("script.py", at=tmp_path)
    assert "The books balance: 5 deposits, 5 spent." in done.stderr
    assert NOTHING not in done.stderr


def test_a_script_that_breaks_a_law_prints_what_it_always_did_and_then_the_verdict(
    folder: Path,
) -> None:
    program = programs.bad(find("GL101"))
    plain = subprocess.run(
        [sys.executable, str(program.path)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    (folder / "train.py").write_text(program.source)
    words = ("--fail-on", "error", "--record", "run.gradledger", "train.py")
    done = gradledger(*words, at=folder)
    assert done.stdout == plain.stdout
    [line] = program.marks
    assert done.stderr.startswith(f"train.py:{line}: GL101 spent-gradient-reused: ")
    assert done.returncode == 1
    with Recording(folder / "run.gradledger") as recording:
        assert isinstance(list(recording.events())[-1].event, RunEnd)


@pytest.mark.slow
def test_a_thread_that_outlives_the_main_one_is_audited_and_a_crash_is_shown_first(
    folder: Path,
) -> None:
    program = programs.bad(find("GL101"))
    body = "".join(f"    {line}\n" for line in program.lines if "import" not in line)
    (folder / "outputs").mkdir()
    (folder / "script.py").write_text(
        "import os, threading\n"
        "os.environ['OMP_NUM_THREADS'] = '1'\n"
        "import torch\nfrom torch import nn\n"
        "print(torch.get_num_threads())\n"
        "from torch.utils.data import DataLoader, TensorDataset\n"
        f"def train():\n{body}"
        "def work():\n    threading.main_thread().join()\n    train()\n"
        "threading.Thread(target=work).start()\n"
        "os.chdir('outputs')\n"
        "torch.nn.Linear(2, 2)(torch.zeros(3))\n"
    )
    words = ("-q", "--select", "GL1", "script.py")
    done = gradledger(*words, at=folder, OMP_NUM_THREADS="2")
    assert done.returncode == 1
    assert done.stdout.startswith("1\n")  # torch was not loaded before the script asked for it
    assert done.stderr.startswith("Traceback (most recent call last):\n")
    *_, error, finding = done.stderr.splitlines()
    assert error.startswith("RuntimeError: ")
    assert finding.startswith("script.py:")
    assert " GL101 " in finding


# Streams that are not there any more


@pytest.mark.parametrize(
    "done_by_the_script",
    [
        "sys.stderr.close()",
        "os.close(2)",
        "os.close(2); kept = open('data', 'w')",  # which is number 2 from now on
        "sys.stderr = None",
        "sys.stderr = open('data', 'w')",
        "reader, writer = os.pipe(); os.close(reader); os.dup2(writer, 2)",
        "sys.stdout = sys.stderr = open(os.devnull, 'w')",
    ],
)
def test_a_script_that_closes_its_streams_still_gets_its_verdict(
    done_by_the_script: str, folder: Path
) -> None:
    source = f"import os, sys\n{done_by_the_script}\n"
    (folder / "script.py").write_text(source)
    done = gradledger("script.py", at=folder)
    assert NOTHING in done.stdout + done.stderr
    assert done.returncode == 0
    if (folder / "data").exists():
        assert (folder / "data").read_text() == ""


def test_a_pipe_without_a_reader_changes_neither_status_nor_stderr(folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    (folder / "script.py").write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "gradledger", "run", "--format", "json", "script.py"],
        cwd=folder,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    assert done.returncode == 0
    assert done.stderr.startswith(NOTHING)
    assert json.loads(done.stderr.removeprefix(NOTHING))["findings"] == []
