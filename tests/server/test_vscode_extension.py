"""The VS Code extension: its types fit, and it is packaged."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from gradledger.cli.server import INSTALL

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"

pytestmark = [
    pytest.mark.slow,  # takes seconds: the extension is compiled and bundled
    pytest.mark.skipif(
        shutil.which("npm") is None or not (EXTENSION / "node_modules" / "typescript").exists(),
        reason="what it is built with is not there: make editors, with Node.js and npm",
    ),
]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The extension in a folder of its own, so that building it changes nothing here."""
    built = shutil.ignore_patterns("node_modules", "dist", "*.vsix")
    folder = Path(shutil.copytree(EXTENSION, tmp_path / "vscode", ignore=built))
    (folder / "node_modules").symlink_to(EXTENSION / "node_modules")
    return folder


def test_its_types_fit_and_the_package_has_what_it_needs(copy: Path) -> None:
    for script in ("check", "package"):
        subprocess.run(["npm", "run", "-s", script], cwd=copy, check=True)
    with zipfile.ZipFile(copy / "gradledger.vsix") as package:
        names = {name for name in package.namelist() if name.startswith("extension/")}
        about = json.loads(package.read("extension/package.json"))
        code = package.read("extension/dist/extension.js").decode()
    assert names == {"extension/package.json", "extension/readme.md", "extension/dist/extension.js"}
    assert about["contributes"]["commands"][0]["title"] == "Audit this file"
    assert INSTALL in code, "it says what to install, with the words of the command line"
