"""A real Neovim, set up by the lines of editors/README.md."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.server.programs import RIGHT, WRONG

README = Path(__file__).parents[2] / "editors" / "README.md"
NEOVIM = shutil.which("nvim")

pytestmark = [
    pytest.mark.slow,  # takes seconds: a real editor, and a real server
    pytest.mark.skipif(NEOVIM is None, reason="there is no nvim here: apt-get install neovim"),
]


def test_neovim_shows_the_finding_and_makes_the_fix(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(WRONG)
    _put_on_path(tmp_path / "bin")
    (finding,) = told_by_neovim(tmp_path, README.read_text(), path=tmp_path / "bin")
    assert (finding["line"], finding["code"], finding["source"]) == (8, "GL101", "gradledger")
    assert finding["title"] == "Fix GL101 spent-gradient-reused"
    assert (tmp_path / "train.py").read_text() == RIGHT


def told_by_neovim(folder: Path, readme: str, *, path: Path) -> list[dict[str, Any]]:
    """What it shows of train.py in this folder, once it has made the fix."""
    assert NEOVIM is not None
    version = subprocess.run([NEOVIM, "--version"], capture_output=True, text=True, check=True)
    numbers = re.search(r"NVIM v(\d+)\.(\d+)", version.stdout)
    assert numbers is not None
    new, old = re.findall(r"```lua\n(.*?)```", readme, re.DOTALL)
    lines = new if (int(numbers[1]), int(numbers[2])) >= (0, 11) else old
    (folder / "init.lua").write_text(lines)
    (folder / "pyproject.toml").write_text("")
    seen = folder / "seen.json"
    story = str(Path(__file__).with_name("neovim.lua"))
    subprocess.run(
        [NEOVIM, "--headless", "-u", "init.lua", "train.py", "-c", f"luafile {story}"],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{path}{os.pathsep}{os.environ['PATH']}",
            "SEEN": str(seen),
            "HOME": str(folder),
            "XDG_STATE_HOME": str(folder),
        },
        check=True,
        timeout=300,
    )
    told = json.loads(seen.read_text())
    assert "error" not in told, told
    assert isinstance(told, list)
    return told


def _put_on_path(folder: Path) -> None:
    """A `gradledger` as an installed one: the one that is tested."""
    folder.mkdir()
    command = folder / "gradledger"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gradledger "$@"\n')
    command.chmod(0o755)
