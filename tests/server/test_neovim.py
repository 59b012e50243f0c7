"""A real Neovim, set up by the lines of editors/README.md."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server.programs import RIGHT, WRONG

README = Path(__file__).parents[2] / "editors" / "README.md"
NEOVIM = shutil.which("nvim")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(NEOVIM is None, reason="there is no nvim here: apt-get install neovim"),
]


def test_neovim_shows_the_finding_and_makes_the_fix(tmp_path: Path) -> None:
    assert NEOVIM is not None
    version = subprocess.run([NEOVIM, "--version"], capture_output=True, text=True, check=True)
    numbers = re.search(r"NVIM v(\d+)\.(\d+)", version.stdout)
    assert numbers is not None
    new, old = re.findall(r"```lua\n(.*?)```", README.read_text(), re.DOTALL)
    lines = new if (int(numbers[1]), int(numbers[2])) >= (0, 11) else old
    (tmp_path / "init.lua").write_text(lines)
    train, seen = tmp_path / "train.py", tmp_path / "seen.json"
    train.write_text(WRONG)
    (tmp_path / "pyproject.toml").write_text("")
    _put_on_path(tmp_path / "bin")
    story = str(Path(__file__).with_name("neovim.lua"))
    subprocess.run(
        [NEOVIM, "--headless", "-u", "init.lua", "train.py", "-c", f"luafile {story}"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "SEEN": str(seen),
            "HOME": str(tmp_path),
            "XDG_STATE_HOME": str(tmp_path),
        },
        check=True,
        timeout=300,
    )
    told = json.loads(seen.read_text())
    assert "error" not in told, told
    (finding,) = told
    assert (finding["line"], finding["code"], finding["source"]) == (8, "GL101", "gradledger")
    assert finding["title"] == "Fix GL101 spent-gradient-reused"
    assert train.read_text() == RIGHT


def _put_on_path(folder: Path) -> None:
    """A `gradledger` as an installed one: the one that is tested."""
    folder.mkdir()
    command = folder / "gradledger"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gradledger "$@"\n')
    command.chmod(0o755)
