"""gradledger as people have it: from the wheel, in an environment of its own."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.once import once

ROOT = Path(__file__).parent.parent
NEEDED = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "src", "web")


class Installed(NamedTuple):
    """An environment that has the wheel; torch, frameworks and tools are those of the tests."""

    bin: Path

    def run(self, *command: str, folder: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
        """A command as a person types it, with this environment activated."""
        path = f"{self.bin}{os.pathsep}{os.environ['PATH']}"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYTEST"))}
        done = subprocess.run(
            ["bash", "-c", command[0]] if len(command) == 1 else command,
            cwd=folder,
            env={**kept, "PATH": path, "HOME": str(folder), "VIRTUAL_ENV": str(self.bin.parent)},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done


def installed(factory: pytest.TempPathFactory) -> Installed:
    """Made once for all processes of a test run."""
    with once("installed", factory) as (folder, first):
        environment = Installed(folder / "venv" / "bin")
        if first:
            wheel = _built(folder / "checkout")
            subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
            python = str(environment.bin / "python")
            asked = [python, "-c", "import site; print(site.getsitepackages()[0])"]
            packages = Path(subprocess.check_output(asked, text=True).strip())
            # First come its own packages, then those of the tests.
            shared = "".join(f"{path}\n" for path in site.getsitepackages())
            (packages / "shared.pth").write_text(shared)
            pip = [python, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
            subprocess.run([*pip, str(wheel)], check=True)
    return environment


def _built(checkout: Path) -> Path:
    ignored = shutil.ignore_patterns("node_modules", "__pycache__", "*.egg-info")
    checkout.mkdir()
    for name in NEEDED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, checkout / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, checkout)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "."]
    subprocess.run(build, cwd=checkout, check=True, capture_output=True)
    (wheel,) = (checkout / "dist").glob("*.whl")
    assert zipfile.is_zipfile(wheel)
    return wheel
