"""Which front end sees which rule: the rules, the commands, the pages and the code say the same."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gradledger.cli import main
from gradledger.rules import CATALOGUE, Rule, SeenBy
from gradledger.rules.catalogue import NOT_IN_SOURCE
from gradledger.rules.programs import bad
from tests.static.expectations import checked

DOCS = Path(__file__).parents[2] / "docs"
BY_RUN_ALONE = {rule.code for rule in CATALOGUE if not rule.seen_by.by_check}
PLAIN = {rule.code for rule in CATALOGUE if rule.seen_by is SeenBy.RUN_AND_PLAIN_SOURCE}


def codes(text: str) -> set[str]:
    return set(re.findall(r"GL\d{3}", text))


def test_a_check_asks_the_rules_that_it_can_see_and_no_others() -> None:
    assert NOT_IN_SOURCE == BY_RUN_ALONE


@pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: rule.code)
def test_the_checker_finds_a_faulty_example_exactly_where_it_says_that_it_can(rule: Rule) -> None:
    found = {finding.rule for finding in checked(bad(rule).path).findings}
    assert (rule.code in found) is rule.seen_by.by_check


@pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: rule.code)
def test_the_pages_say_who_sees_a_rule(rule: Rule) -> None:
    page = (DOCS / "rules" / f"{rule.code}.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| (?:error|warning|info) \|.*\| (.*) \|$", page, re.MULTILINE)
    listed = (DOCS / "rules" / "README.md").read_text(encoding="utf-8")
    (who,) = re.findall(rf"^\| \[{rule.code}\].*?\| \w+ \| (.*?) \|", listed, re.MULTILINE)
    assert row == who == rule.seen_by.value


def test_the_command_lists_who_sees_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    rows = re.findall(
        r"^  (GL\d{3}) .*(?:error|warning|info) +(.*)$", capsys.readouterr().out, re.M
    )
    assert {code: set(who.split()) for code, who in rows} == {
        rule.code: (
            {"check*" if rule.code in PLAIN else "check"} if rule.seen_by.by_check else set()
        )
        | ({"run"} if rule.seen_by.by_run else set())
        for rule in CATALOGUE
    }


def test_the_command_says_the_same_to_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--format", "json"]) == 0
    told = {rule["code"]: rule["seen_by"] for rule in json.loads(capsys.readouterr().out)["rules"]}
    assert told == {
        rule.code: {"check": rule.seen_by.by_check, "run": rule.seen_by.by_run}
        for rule in CATALOGUE
    }


def test_the_checkers_page_names_the_rules_that_it_can_not_see() -> None:
    page = (DOCS / "checker.md").read_text(encoding="utf-8")
    (alone,) = re.findall(r"Six rules can only be seen by a run: (.*?)\.", page)
    (plain,) = re.findall(
        r"\. (GL\d+ and GL\d+) are found in source that states them plainly", page
    )
    assert codes(alone) == BY_RUN_ALONE
    assert codes(plain) == PLAIN
    assert len(BY_RUN_ALONE) == 6


def test_the_auditors_page_has_a_symptom_for_each_rule_that_it_sees() -> None:
    page = (DOCS / "auditor.md").read_text(encoding="utf-8")
    symptoms = page.partition("## From a symptom to its cause")[2].partition("\n## ")[0]
    listed = set(re.findall(r"\[(GL\d{3})\]\(rules/", symptoms))
    assert listed == {rule.code for rule in CATALOGUE if rule.seen_by.by_run}
    assert "It sees violations of all rules" in page
    assert listed == {rule.code for rule in CATALOGUE}
