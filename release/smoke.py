"""The wheel, as a person installs it: in a new environment, with what the index has today."""

from __future__ import annotations

import os
import subprocess
import tempfile
from importlib.metadata import PathDistribution
from pathlib import Path
from zipfile import Path as Zipped

FAULTY = """\
import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(4):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
"""
"""Never clears its gradients: GL101."""
CONFIGURED = '[tool.gradledger]\nselect = ["GL1"]\n'
"""So that pyproject.toml is parsed, for which Python 3.10 needs tomli."""


class Failed(Exception):
    """A command did not do what it should have."""


def smoke(wheel: Path, python: str, *, torch: bool = False) -> str | None:
    """Why the wheel doesn't work with this Python, or None if it does.

    wheel: what to install
    python: the interpreter to make an environment with
    torch: whether `python` has PyTorch, which the environment then sees, to audit a program
    """
    try:
        with tempfile.TemporaryDirectory(prefix="gradledger-smoke-") as folder:
            _try(wheel, python, Path(folder), torch)
    except Failed as failed:
        return str(failed)
    return None


def _try(wheel: Path, python: str, folder: Path, torch: bool) -> None:
    _said([python, "-m", "venv", "venv"], folder, 0)
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    inside = str(scripts / "python")
    if torch:
        _share(python, inside, folder)
    _said([inside, "-m", "pip", "install", "--quiet", str(wheel)], folder, 0)
    gradledger = str(scripts / "gradledger")
    (folder / "train.py").write_text(FAULTY)
    (folder / "pyproject.toml").write_text(CONFIGURED)

    _said([gradledger, "--version"], folder, 0, _version(wheel))
    _said([gradledger, "rule", "GL101"], folder, 0, "spent-gradient-reused")
    _said([gradledger, "check", "train.py"], folder, 1, "train.py:7: GL101")
    if torch:
        _said([gradledger, "run", "--fail-on", "error", "train.py"], folder, 1, "train.py:7: GL101")
    else:
        _said([gradledger, "run", "train.py"], folder, 2, "needs PyTorch")


def _version(wheel: Path) -> str:
    (info,) = (part for part in Zipped(wheel).iterdir() if part.name.endswith(".dist-info"))
    return PathDistribution(info).version


def _share(python: str, inside: str, folder: Path) -> None:
    """Lets the environment see the packages of `python`, behind its own."""
    asked = "import site; print(*site.getsitepackages(), sep='\\n')"
    shared = _said([python, "-c", asked], folder, 0)
    (own, *_) = _said([inside, "-c", asked], folder, 0).splitlines()
    Path(own, "shared.pth").write_text(shared)


def _said(command: list[str], folder: Path, status: int, words: str = "") -> str:
    """What the command printed, if it ended with this status and said these words."""
    # A user has no constraints of ours, and no variables that change how Python starts.
    ours = ("PYTHON", "PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT", "VIRTUAL_ENV", "GRADLEDGER")
    environ = {k: v for k, v in os.environ.items() if not k.startswith(ours)}
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    said = done.stdout + done.stderr
    if done.returncode != status or words not in said:
        wanted = f"status {status}" + (f" and {words!r}" if words else "")
        raise Failed(f"{' '.join(command)}: status {done.returncode}, wanted {wanted}\n{said}")
    return done.stdout
