"""User code under mypy --strict: what is right passes, and what is wrong is an error."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.once import once

ROOT = Path(__file__).parents[2]
TYPED = Path(__file__).parent / "programs" / "typed.py"
MISTYPED = Path(__file__).parent / "programs" / "mistyped.txt"
CACHE = ROOT / ".mypy_cache" / "typing"
"""Its own, or `make check` would find torch read with other settings; kept, as that takes long."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What mypy --strict says of the programs, line by line; nobody's settings but its own."""
    with once("typed programs", tmp_path_factory) as (folder, first):
        if first:
            (folder / "said").write_text(mypy(folder))
        return (folder / "said").read_text().splitlines()


def mypy(folder: Path) -> str:
    wrong = folder / "mistyped.py"
    shutil.copy(MISTYPED, wrong)
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary"),
            *("--no-pretty", "--python-version=3.10", f"--cache-dir={CACHE}"),
            *(str(TYPED), str(wrong)),
        ],
        cwd=TYPED.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stderr == ""
    return ran.stdout


def marked(kind: str) -> dict[int, str]:
    lines = MISTYPED.read_text().splitlines()
    found = {at: re.search(kind, line) for at, line in enumerate(lines, 1)}
    return {at: match[1] for at, match in found.items() if match}


def test_user_code_that_uses_the_whole_api_passes(said: list[str]) -> None:
    assert [line for line in said if "mistyped" not in line] == []


def test_every_wrong_use_is_an_error_and_nothing_else_is(said: list[str]) -> None:
    errors = {}
    for line in said:
        if match := re.search(r"mistyped\.py:(\d+): error: .*\[([a-z-]+)\]$", line):
            errors[int(match[1])] = match[2]
    assert errors == marked(r"# error: ([a-z-]+)$")


def test_over_detach_and_run_keep_the_types_of_what_they_are_given(said: list[str]) -> None:
    revealed = {}
    for line in said:
        if match := re.search(r'mistyped\.py:(\d+): note: Revealed type is "(.*)"$', line):
            revealed[int(match[1])] = match[2]
    expected = marked(r"reveal_type.*# (\w+)$")
    assert revealed.keys() == expected.keys()
    for at, kind in expected.items():
        assert re.search(rf"\b{kind}\b", revealed[at]), (at, revealed[at])
