"""Optimizers of PyPI that keep torch's protocol, in an environment of their own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("OPTIMIZERS_PYTHON", ROOT / ".venv-optimizers" / "bin" / "python"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="they are not installed: make optimizers"),
]


def test_each_gives_the_plain_loops_parameters_bit_for_bit() -> None:
    command = [str(PYTHON), "-W", "ignore", "-m", "tests.engine.programs.pypi_optimizers"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-2000:]
    verdicts = json.loads(ran.stdout.splitlines()[-1])
    assert len(verdicts) == 100
    assert {name: wrong for name, wrong in verdicts.items() if wrong} == {}


def test_the_page_has_the_versions_that_are_tested() -> None:
    page = (ROOT / "docs" / "stepper.md").read_text()
    for line in (ROOT / "tests" / "engine" / "optimizers.txt").read_text().splitlines():
        if not line.startswith("#"):
            package, version = line.split("==")
            assert f"| {package} | {version} |" in page
