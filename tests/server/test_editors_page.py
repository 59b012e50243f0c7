"""docs/editors.md and docs/notebooks.md name the versions that the tests run with."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.server.vscode import ROOT, VSCODE

PAGE = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
NOTEBOOKS = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")


def row(tool: str, page: str = PAGE) -> str:
    (found,) = [line for line in page.splitlines() if line.startswith(f"| {tool} |")]
    return found


@pytest.mark.parametrize("page", [PAGE, NOTEBOOKS], ids=["editors", "notebooks"])
def test_the_version_of_vs_code_is_the_one_that_make_installs(page: str) -> None:
    pinned = json.loads(Path(__file__).with_name("code-server.json").read_text())["dependencies"]
    assert f"code-server {pinned['code-server']} " in row("VS Code", page)
    if VSCODE.exists():
        version = json.loads((VSCODE / "package.json").read_text())["version"]
        assert f"| {version}, as code-server" in row("VS Code", page)


# Of Neovim, the system's package manager has one version; with another one, the tests run as well.
def test_the_version_of_neovim_is_no_newer_than_the_one_that_is_there() -> None:
    if (neovim := shutil.which("nvim")) is None:
        pytest.skip("there is no nvim here: apt-get install neovim")
    told = subprocess.run([neovim, "--version"], capture_output=True, text=True, check=True)
    pattern = r"(\d+)\.(\d+)\.(\d+)"
    there, said = re.search(pattern, told.stdout), re.search(pattern, row("Neovim"))
    assert there is not None
    assert said is not None
    assert tuple(map(int, said.groups())) <= tuple(map(int, there.groups()))


def test_the_client_of_the_protocol_is_the_one_that_is_installed() -> None:
    clients = "clients with the capabilities of Neovim 0.11 and VS Code 1.65"
    assert f"pytest-lsp {version('pytest-lsp')} |" in row(clients)
