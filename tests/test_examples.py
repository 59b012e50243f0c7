"""The programs in examples/ run, keep their word, and leave books that balance."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from gradledger import StepperWarning
from gradledger.ledger.book import Book
from gradledger.ledger.events import Backward, Clear, Step
from gradledger.rules import YIELDS_TO, judge
from tests.observer import Observation, observe
from tests.observer.kept import observed
from tests.processes import PROCESSES

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples"
PROGRAMS = sorted(FOLDER.glob("*.py"))
README = (FOLDER / "README.md").read_text(encoding="utf-8")

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)


@dataclass(frozen=True)
class Ending:
    """How a program ended, and what it said."""

    status: int | None
    output: str
    errors: str


@pytest.fixture(autouse=True)
def _what_programs_set_for_all_is_put_back() -> Iterator[None]:
    dtype = torch.get_default_dtype()
    yield
    torch.set_default_dtype(dtype)


# Running ------------------------------------------------------------------------------------


@every_program
def test_it_runs_and_nothing_unexpected_is_said(program: Path, tmp_path: Path) -> None:
    ending = run(program, tmp_path)
    assert ending.status == 0, ending.errors
    assert len(ending.output.splitlines()) >= 3
    assert "nan" not in ending.output
    # Each warning but the Stepper's own is an error; that one comes where the program says so.
    announced = "StepperWarning" in program.read_text(encoding="utf-8")
    assert ("StepperWarning" in ending.errors) == bool(ending.errors) == announced


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("accumulation.py", ", items=len(y)", ""),
        ("tokens.py", ", items=valid", ""),
        ("pretraining.py", ", items=tokens", ""),
        ("oom.py", "part[1])", "part[1], reduction='sum')"),
        ("resume.py", "stepper.load(checkpoint)", "model.load_state_dict(whole.state_dict())"),
        ("eager.py", "lr=1e-3", "lr=2e-3 if eager else 1e-3"),
        ("bad_batches.py", "on_fault=on_fault)", "on_nonfinite='allow')"),
    ],
)
def test_it_fails_where_the_claim_that_it_prints_is_wrong(
    name: str, right: str, wrong: str, tmp_path: Path
) -> None:
    ending = run(changed(name, {right: wrong}, tmp_path), tmp_path)
    assert ending.status == 1
    assert "Traceback" not in ending.errors
    assert re.search(r"should|has come through", ending.errors)


@pytest.mark.slow
def test_the_command_in_the_readme_works() -> None:
    (command,) = re.findall(r"^\$ python (.*)$", README, re.MULTILINE)
    done = subprocess.run([sys.executable, *command.split()], cwd=ROOT, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_readme_lists_the_programs_that_there_are() -> None:
    rows = re.findall(r"^\| \[(.*?)\]\((.*?)\) \| .+ \|$", README, re.MULTILINE)
    assert [name for name, _ in rows] == [link for _, link in rows]
    assert sorted(name for name, _ in rows) == [program.name for program in PROGRAMS]


# Auditing -----------------------------------------------------------------------------------


@every_program
def test_the_ledger_finds_nothing(program: Path) -> None:
    (observation,) = observed(program)
    assert observation.error is None
    assert findings(observation) == []
    assert {Backward, Step, Clear} <= {type(event) for event in observation.events}


def test_the_ledger_finds_the_loop_that_plain_could_have_been(tmp_path: Path) -> None:
    hand_written = "loss.backward(); optimizer.step()"
    program = changed(
        "plain.py",
        {"stepper.over(loader)": "loader", "stepper.backward(loss, items=len(y))": hand_written},
        tmp_path,
    )
    (finding,) = findings(observe(program))
    line = program.read_text(encoding="utf-8").splitlines()[int(finding.split(":")[1]) - 1]
    assert finding.startswith("GL101:")
    assert hand_written in line


def findings(observation: Observation) -> list[str]:
    """What the rules say to what a program did: rule, line, and words."""
    book = Book(judge, yields_to=YIELDS_TO)
    for event in observation.events:
        book.post(event)
    return [f"{found.rule}:{found.at.line}: {found.detail}" for found in book.findings]


# Programs -----------------------------------------------------------------------------------


def changed(name: str, changes: dict[str, str], folder: Path) -> Path:
    """A copy of a program in which each of these, found exactly once, is exchanged."""
    source = (FOLDER / name).read_text(encoding="utf-8")
    for old, new in changes.items():
        assert source.count(old) == 1
        source = source.replace(old, new)
    copy = folder / name
    copy.write_text(source, encoding="utf-8")
    return copy


def run(program: Path, folder: Path) -> Ending:
    """A program as a process of its own."""
    output, errors = folder / "output", folder / "errors"
    process = PROCESSES.Process(target=_main, args=(program, output, errors))
    process.start()
    process.join(120)
    if process.exitcode is None:
        process.kill()
        process.join()
    return Ending(process.exitcode, output.read_text("utf-8"), errors.read_text("utf-8"))


def _main(program: Path, output: Path, errors: Path) -> None:
    for descriptor, path in ((1, output), (2, errors)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    torch.set_num_threads(1)  # as the observer has it: the programs are tiny
    warnings.resetwarnings()
    warnings.simplefilter("error")
    warnings.simplefilter("always", StepperWarning)
    runpy.run_path(str(program), run_name="__main__")
