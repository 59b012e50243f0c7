"""The interpreters that the wheel is tried with."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from release.packages import ROOT

PYENV = Path.home() / ".pyenv" / "versions"


def pythons(pyenv: Path = PYENV) -> Iterator[tuple[str, str | None]]:
    """Each version that pyproject.toml names, with an interpreter from PATH or pyenv, or None."""
    for version in supported():
        yield version, _of_pyenv(pyenv, version) or _working(shutil.which(f"python{version}"))


def supported() -> list[str]:
    """`3.10`, `3.11`, …, as the classifiers say."""
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    return re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)


def _of_pyenv(pyenv: Path, version: str) -> str | None:
    """The newest of its patch releases."""
    there = [path for path in pyenv.glob(f"{version}.*") if (path / "bin" / "python").exists()]
    patches = [path for path in there if path.name.split(".")[-1].isdecimal()]
    newest = max(patches, key=lambda path: int(path.name.split(".")[-1]), default=None)
    return str(newest / "bin" / "python") if newest else None


def _working(python: str | None) -> str | None:
    # A shim of pyenv is found on PATH, too, and only says that the version isn't selected.
    return None if python is None or "shims" in Path(python).parts else python
