"""docs/frameworks.md is enough: its programs run as they stand, and are told what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "frameworks.md").read_text(encoding="utf-8")
SECTIONS: dict[str, str] = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
EXACT = SECTIONS.pop("Exact windows")
FRAMEWORKS = [name for name, text in SECTIONS.items() if "```python" in text]


def _run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(program, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "train.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.mark.slow  # a process that loads the framework
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_program_of_the_page_is_told_what_it_says(framework: str, tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", SECTIONS[framework], re.S)
    ((rule, cure),) = re.findall(r"```text\n(.+)\n(.+)\n```", SECTIONS[framework])
    done = _run(program, tmp_path)
    assert done.returncode == 0, done.stderr
    told = [line for line in done.stderr.splitlines() if "FindingWarning: " in line]
    (line,) = [number for number, text in enumerate(program.splitlines(), 1) if _faulty(text)]
    assert len(told) == 1, done.stderr
    assert f"train.py:{line}: {rule}: " in told[0]
    assert told[0].partition(": FindingWarning: ")[0].endswith(f"train.py:{line}")
    assert f"To fix it, {cure}" in told[0]
    (report,) = tmp_path.rglob("gradledger.html")
    assert "checkpoints" in report.parts
    assert rule in report.read_text(encoding="utf-8")


@pytest.mark.slow  # a process that loads the framework
@pytest.mark.parametrize("program", re.findall(r"```python\n(.*?)```", EXACT, re.S))
def test_a_program_with_exact_windows_makes_an_update_for_each_window(
    program: str, tmp_path: Path
) -> None:
    done = _run(program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "3 updates"


def _faulty(line: str) -> bool:
    """The division that is one too many, or where there is none: the backward."""
    return bool(re.search(r"^\s*(return loss / |loss = .* / 4$|fabric\.backward)", line))


@pytest.mark.parametrize(
    ("tool", "package"),
    [
        ("lightning, ", "lightning"),
        ("transformers", "transformers"),
        ("accelerate", "accelerate"),
        ("lightning \\(Fabric\\)", "lightning"),
        ("pytorch-ignite", "pytorch-ignite"),
    ],
)
def test_the_versions_on_the_page_are_those_that_the_tests_run_with(
    tool: str, package: str
) -> None:
    (row,) = re.findall(rf"^\| {tool}.*$", PAGE, re.MULTILINE)
    assert f"| {version(package)} |" in row
