"""The magics in the IPython that Colab has, which is older than any other notebook's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.integrations.cells import MAKE, TRAIN
from tests.integrations.test_real_trackers import PYTHON

LISTED = Path(__file__).with_name("trackers.txt").read_text(encoding="utf-8")
PAGE = (Path(__file__).parents[2] / "docs" / "notebooks.md").read_text(encoding="utf-8")
VERSION = LISTED.partition("ipython==")[2].splitlines()[0]

SESSION = f"""\
import IPython
from IPython.core.interactiveshell import InteractiveShell

assert IPython.__version__ == {VERSION!r}, IPython.__version__
shell = InteractiveShell.instance(colors="NoColor")
for cell in ({"%load_ext gradledger"!r}, {MAKE!r}, {"%%gradledger" + chr(10) + TRAIN!r},
             {"%gradledger check"!r}, {"%gradledger nonsense"!r}):
    shell.run_cell(cell, store_history=True)
"""


@pytest.mark.slow  # a process that loads torch
@pytest.mark.skipif(not PYTHON.exists(), reason="that IPython is not there: make trackers")
def test_the_magics_work_as_in_newer_ones(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(PYTHON), "-c", SESSION],
        cwd=tmp_path,
        env={**os.environ, "IPYTHONDIR": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("cell 3, line 5: GL101 spent-gradient-reused") == 2, done.stdout
    assert "The books do not balance: 1 error." in done.stdout
    assert "UsageError: %gradledger nonsense: there is no such magic" in done.stdout + done.stderr


def test_the_page_names_its_version() -> None:
    (row,) = [line for line in PAGE.splitlines() if line.startswith("| Colab")]
    assert f"IPython {VERSION}" in row
