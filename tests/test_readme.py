"""What the README shows is what happens."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradledger.cli import COMMANDS
from gradledger.rules import CATALOGUE, find, programs

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md"]
PAGES += sorted((ROOT / "docs").rglob("*.md"))


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


PROGRAMS = [*blocks("python"), *blocks("python", CONTRIBUTING)]


def test_the_verdict_it_shows_is_that_on_the_bad_program_of_its_rule(tmp_path: Path) -> None:
    command, shown = blocks("console")[0].split("\n", maxsplit=1)
    program = programs.bad(find(shown.split()[1]))
    (tmp_path / "train.py").write_text("\n".join([*program.lines, ""]), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", *command.removeprefix("$ ").split()],
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k != "FORCE_COLOR"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == shown


@pytest.mark.parametrize("code", PROGRAMS, ids=lambda code: code.split("\n")[0])
def test_the_python_it_shows_prints_what_its_last_comment_says(code: str) -> None:
    expected = code.rstrip().splitlines()[-1].removeprefix("# ")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == f"{expected}\n"


def test_its_table_names_commands_that_there_are_and_leaves_out_none() -> None:
    rows = "\n".join(re.findall(r"^\| `.*$", README, re.MULTILINE))
    named = set(re.findall(r"`gradledger (\w+)", rows))
    assert named <= set(COMMANDS)
    assert named >= set(COMMANDS) - {"demo"}  # has a line of its own


def test_it_counts_the_rules_right() -> None:
    assert f"{len(CATALOGUE)} ways to break the nine laws" in README


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text)
    missing = [to for to in links if "://" not in to and not (page.parent / to).exists()]
    assert missing == []


def test_make_targets_that_the_pages_name_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):.*##", makefile, re.MULTILINE))
    for page in PAGES:
        assert set(re.findall(r"(?:`|\$ )make ([\w-]+)", page.read_text("utf-8"))) <= targets
