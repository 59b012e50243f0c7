"""docs/editors.md names the versions that the tests run with."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")


def row(tool: str) -> str:
    (found,) = [line for line in PAGE.splitlines() if line.startswith(f"| {tool} |")]
    return found


def test_the_version_of_vs_code_is_the_one_that_make_installs() -> None:
    pinned = json.loads(Path(__file__).with_name("code-server.json").read_text())["dependencies"]
    assert f"code-server {pinned['code-server']} " in row("VS Code")


def test_the_client_of_the_protocol_is_the_one_that_is_installed() -> None:
    clients = "clients with the capabilities of Neovim 0.11 and VS Code 1.65"
    assert f"pytest-lsp {version('pytest-lsp')} |" in row(clients)
