"""Nothing needs POSIX without need: where its modules and functions are missing, commands work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gradledger.rules import find, programs

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "gradledger"
BAD = programs.bad(find("GL101")).path
EVERY = """
names = [name for name in NAMES if not name.startswith(SKIPPED)]
for name in names:
    __import__(name)
print(len(names))
"""
SKIPPED = (
    "gradledger.__main__",
    "gradledger.rules.examples",
    "gradledger.cli.programs",
    "gradledger.integrations",  # needs what it integrates
    "gradledger.runtime.children.door.sitecustomize",  # is for children
)
NAMES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(PACKAGE.rglob("*.py"))
]
NEED_TORCH = ("gradledger.engine", "gradledger.runtime")
AUDITED = """
import gradledger, torch
net = torch.nn.Linear(3, 1)
stepper = gradledger.Stepper(net, torch.optim.SGD(net.parameters(), 0.1), accumulate=2)
for _ in range(4):
    stepper.backward(net(torch.ones(2, 3)).mean())
stepper.save("run.pt")
stepper.load("run.pt")
optimizer = torch.optim.SGD(net.parameters(), 0.1)
with gradledger.audit(record="run.gradledger") as book:
    for _ in range(3):
        net(torch.ones(2, 3)).mean().backward()
        optimizer.step()
print(stepper.updates, book.findings[0].rule, book.unseen, book.journal.failure)
"""


def run(*argv: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.without_posix", *argv]
    path = f"import os, sys; sys.path.insert(0, {str(ROOT)!r}); os.chdir({str(folder)!r})\n"
    return subprocess.run(
        [*command[:-1], path + command[-1]], cwd=ROOT, capture_output=True, text=True
    )


def cli(*argv: str) -> str:
    return f"from gradledger.cli import main\nraise SystemExit(main({list(argv)!r}))"


@pytest.mark.parametrize(
    ("argv", "status", "words"),
    [
        (["check", str(BAD)], 1, "GL101"),
        (["check", "--jobs", "2", str(BAD.parent)], 1, "GL301"),
        (["check", "--format", "sarif", "--no-cache", str(BAD)], 1, "GL101"),
        (["rule", "GL101"], 0, "spent-gradient-reused"),
        (["rules"], 0, "GL101"),
        (["why", "loss oscillates"], 0, "GL"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, list) else None,
)
def test_a_command_works(argv: list[str], status: int, words: str, tmp_path: Path) -> None:
    done = run(cli(*argv), folder=tmp_path)
    assert (done.returncode, done.stderr) == (status, "")
    assert words in done.stdout


def test_every_module_that_needs_no_torch_can_be_imported(tmp_path: Path) -> None:
    code = f"NAMES, SKIPPED = {NAMES}, {(*SKIPPED, *NEED_TORCH)}{EVERY}"
    done = run("pygls", code, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300


@pytest.mark.slow
def test_every_module_that_needs_torch_can_be_imported(tmp_path: Path) -> None:
    code = f"NAMES, SKIPPED = {NAMES}, {SKIPPED}{EVERY}"
    done = run("torch._dynamo", "torch.distributed.fsdp", "pygls", code, folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_training_is_stepped_saved_and_audited(tmp_path: Path) -> None:
    done = run("torch._dynamo", AUDITED, folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "2 GL101 () None\n"), done.stderr
