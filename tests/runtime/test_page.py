"""docs/auditor.md is enough to use the auditor: what it shows is what happens."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gradledger
from gradledger.cli import main
from gradledger.cli.run import FORMATS
from gradledger.ledger.findings import Finding
from gradledger.ledger.outcomes import Tally
from gradledger.rules import CATALOGUE, Rule
from gradledger.runtime.loops.step_sampling import FIRST
from gradledger.runtime.processes.rank_verdict import PATIENCE

PAGE = (Path(__file__).parents[2] / "docs" / "auditor.md").read_text(encoding="utf-8")
PROGRAM, INSIDE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
CONSOLE: dict[str, str] = dict(re.findall(r"```console\n\$ (.*?)\n(.*?)```", PAGE, re.DOTALL))
OBSERVED = [rule for rule in CATALOGUE if rule.seen_by.by_run]


def test_the_verdict_on_the_page_is_that_on_the_program(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM, encoding="utf-8")
    kept = {k: v for k, v in os.environ.items() if k != "FORCE_COLOR"}
    done = subprocess.run(
        [sys.executable, "-m", "gradledger", "run", "train.py"],
        cwd=tmp_path,
        env={**kept, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    assert done.stdout == CONSOLE["gradledger run train.py"]


def test_the_help_on_the_page_is_that_of_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    assert capsys.readouterr().out == CONSOLE["gradledger run --help"]


def test_what_an_audit_inside_code_finds_is_what_the_last_comment_says() -> None:
    expected = INSIDE.rstrip().splitlines()[-1].removeprefix("# ")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(INSIDE, "auditor.md", "exec"), {})
    assert printed.getvalue() == f"{expected}\n"


@pytest.mark.parametrize("rule", OBSERVED, ids=lambda rule: rule.code)
def test_the_symptom_and_the_cure_of_a_rule_are_on_the_page_in_its_own_words(rule: Rule) -> None:
    row = f"| {rule.symptom} | [{rule.code}](rules/{rule.code}.md) {rule.name} | {rule.fix} |"
    assert PAGE.splitlines().count(row) == 1


def test_the_page_promises_no_rule_that_the_auditor_does_not_see() -> None:
    rows = re.findall(r"^\| .+ \| \[(GL\d{3})\]\(rules/", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(rule.code for rule in OBSERVED)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_explained(name: str) -> None:
    (formats,) = re.findall(r"^- \*\*Formats\.\*\*.*?(?=^- )", PAGE, re.MULTILINE | re.DOTALL)
    assert f"`{name}`" in formats


def test_the_options_of_audit_are_all_on_the_page() -> None:
    shown = set(re.findall(r"`audit\((\w+)=", PAGE))
    assert shown == set(inspect.signature(gradledger.audit).parameters)


def test_what_a_book_and_a_finding_have_is_on_the_page() -> None:
    (finding,) = re.findall(r"^\| `book\.findings` \| (.+) \|$", PAGE, re.MULTILINE)
    (tally,) = re.findall(r"^\| `book\.tally` \| (.+) \|$", PAGE, re.MULTILINE)
    assert re.findall(r"`(\w+)`", tally) == list(Tally._fields)
    for name in re.findall(r"`(rule|at|detail|evidence|cells|count)`", finding):
        assert name in Finding.__annotations__
    with gradledger.audit() as book:
        assert (book.findings, book.tally) == ((), Tally())


def test_the_numbers_on_the_page_are_those_in_the_code() -> None:
    prose = " ".join(PAGE.split())
    assert f"audits the first {FIRST} steps" in prose
    assert PATIENCE == 60
    assert "at most a minute" in prose
