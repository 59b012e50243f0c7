"""In a Python that has gradledger, what it depends on, and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest

import gradledger

Bare = Callable[..., "subprocess.CompletedProcess[str]"]
OURS = Path(gradledger.__file__).parent
INSTALL = "pip install 'gradledger[torch]'"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Bare:
    """Runs Python without its site-packages (-S), but with a folder that has what we depend on."""
    site = tmp_path_factory.mktemp("site")
    (site / "gradledger").symlink_to(OURS)
    for package in _dependencies(distribution("gradledger")):
        for top in {file.parts[0] for file in package.files or () if file.parts[0] != ".."}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(package.locate_file(top))))

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        return subprocess.run(
            [sys.executable, "-S", *argv],
            capture_output=True,
            text=True,
            env={**kept, "PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=site.parent,
        )

    return run


def _dependencies(package: Distribution) -> Iterator[Distribution]:
    """The package and all that it needs, extras left out."""
    yield package
    for requirement in package.requires or ():
        name = re.match(r"[\w.-]+", requirement)
        if name and "extra ==" not in requirement:
            try:
                needed = distribution(name[0])
            except PackageNotFoundError:  # only for another Python or another system
                continue
            yield from _dependencies(needed)


def test_the_python_of_these_tests_has_no_torch(bare: Bare) -> None:
    assert "No module named 'torch'" in bare("-c", "import torch").stderr
    assert bare("-c", "import gradledger, rich").returncode == 0


def test_stepper_says_in_one_sentence_what_to_install(bare: Bare) -> None:
    done = bare("-c", "from gradledger import Stepper")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "gradledger.errors.MissingTorchError: gradledger.Stepper needs PyTorch, which is not "
        f"installed here: {INSTALL}"
    )


def test_stepper_can_be_guarded_as_any_missing_import(bare: Bare) -> None:
    done = bare("-c", "try:\n from gradledger import Stepper\nexcept ImportError: print('none')")
    assert (done.stdout, done.stderr) == ("none\n", "")


def test_run_says_in_one_line_what_to_install(bare: Bare) -> None:
    done = bare("-m", "gradledger", "run", "train.py", "--epochs", "3")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        f"gradledger: gradledger run needs PyTorch, which is not installed here: {INSTALL}\n"
    )


@pytest.mark.parametrize(
    "command",
    [
        ["rules"],
        ["rule", "GL101"],
        ["--version"],
        ["--help"],
        ["check", "--no-cache", str(OURS / "engine")],
    ],
    ids=lambda command: command[0],
)
def test_what_needs_no_torch_works(command: list[str], bare: Bare) -> None:
    done = bare("-m", "gradledger", *command)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_colour_works(bare: Bare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    done = bare("-m", "gradledger", "rule", "GL101")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b[" in done.stdout


def test_the_tour_shows_its_programs_and_says_how_to_run_them(bare: Bare) -> None:
    done = bare("-m", "gradledger", "demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert INSTALL in done.stdout
    assert "optimizer.step()" in done.stdout
    assert "it prints" not in done.stdout
