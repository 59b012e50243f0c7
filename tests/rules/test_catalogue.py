"""The catalogue is a promise: codes, names and severities stand in people's configuration files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gradledger.rules
from gradledger.errors import UnknownRuleError
from gradledger.ledger import Law
from gradledger.ledger.events import Event
from gradledger.rules import CATALOGUE, YIELDS_TO, Rule, find, stops
from gradledger.rules.catalogue import EVENTS, NOT_IN_SOURCE

PROMISED = """
GL101 spent-gradient-reused          error   S R
GL102 foreign-gradient-spent         error   S R
GL201 gradient-cleared-unspent       error   S R
GL202 step-without-gradient          warning S R
GL203 window-left-over               warning S R
GL204 gradient-never-used            info    S R
GL301 accumulation-not-normalized    error   S R
GL302 window-weights-unequal         warning S R
GL303 accumulation-normalized-twice  error   S R
GL401 clip-on-scaled-gradients       error   S R
GL402 step-on-scaled-gradients       error   S R
GL403 scaler-not-updated             error   S R
GL404 scale-changed-in-window        error   S R
GL405 unscaled-twice                 error   S R
GL501 clip-without-effect            error   S R
GL502 clip-inside-window             warning S R
GL503 scheduler-before-optimizer     warning S R
GL504 scheduler-out-of-step          warning S R
GL601 parameter-without-optimizer    error   S R
GL602 parameter-without-gradient     warning R
GL603 replaced-parameter             error   S R
GL604 moved-without-gradient         warning R
GL605 parameter-in-two-optimizers    warning R
GL606 none-gradient-used             error   S R
GL701 loss-graph-kept                warning S R
GL702 state-not-detached             error   S R
GL703 graph-retained-needlessly      info    S R
GL801 step-without-sync              error   S R
GL802 sync-inside-window             info    S R
GL803 ranks-diverged                 error   R
GL901 non-finite-gradient-spent      error   R
GL902 interrupted-window-spent       error   S R
GL903 low-precision-accumulation     warning R
"""

each_rule = pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: rule.code)


def test_codes_names_severities_and_front_ends_are_as_promised() -> None:
    def line(rule: Rule) -> str:
        by = "S " * rule.seen_by.by_check + "R" * rule.seen_by.by_run
        return " ".join([rule.code, rule.name, rule.severity.value, by.strip()])

    promised = [" ".join(row.split()) for row in PROMISED.strip().splitlines()]
    assert [line(rule) for rule in CATALOGUE] == promised


@each_rule
def test_a_code_begins_with_the_number_of_its_law_and_the_predicate_cites_it(rule: Rule) -> None:
    assert rule.code[2] == str(rule.law.number)
    assert f"(Law {rule.law.number})" in (rule.broken.__doc__ or "")


@each_rule
def test_a_rule_stands_in_the_one_file_that_has_its_code_and_name(rule: Rule) -> None:
    file = f"{rule.code.lower()}_{rule.name.replace('-', '_')}.py"
    folder = Path(gradledger.rules.__file__).parent
    assert [path.name for path in folder.glob(f"{rule.code.lower()}*.py")] == [file]


@each_rule
def test_its_texts_have_the_form_that_messages_need(rule: Rule) -> None:
    for text in (rule.says, rule.fix):
        assert not text.endswith(".")
        assert text[0] == text[0].lower()
        assert len(text) < 120
    for text in (rule.explains, rule.why):
        assert text.endswith(".")
        assert text[0].isupper() or text[0] in "`b"
    for text in (rule.says, rule.explains, rule.why, rule.fix, rule.symptom):
        assert "  " not in text
        assert not re.search(r"\w- \w", text)
        assert text == text.strip()


@each_rule
def test_it_is_asked_only_about_events_that_it_names(rule: Rule) -> None:
    events = EVENTS[rule.broken.__module__.rpartition(".")[2]]
    assert events
    assert all(issubclass(kind, Event) for kind in events)


def test_a_check_asks_the_rules_that_it_can_see_broken() -> None:
    assert {r.code for r in CATALOGUE if not r.seen_by.by_check} == NOT_IN_SOURCE
    assert not any(NOT_IN_SOURCE & causes for causes in YIELDS_TO.values())
    assert not any(stops(code) for code in NOT_IN_SOURCE)


def test_yielding_leads_to_rules_that_exist_and_never_in_a_circle() -> None:
    codes = {rule.code for rule in CATALOGUE}
    for code, causes in YIELDS_TO.items():
        assert causes <= codes
        reached, front = set[str](), set(causes)
        while front:
            reached |= front
            front = {c for f in front for c in YIELDS_TO.get(f, ())} - reached
        assert code not in reached


def test_the_laws_are_numbered_without_gaps() -> None:
    assert [law.number for law in Law] == list(range(1, 10))


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ("GL101", "GL101"),
        (" gl101 ", "GL101"),
        ("spent-gradient-reused", "GL101"),
        ("window-l", "GL203"),
    ],
)
def test_a_rule_is_found_by_code_name_or_the_start_of_a_name(asked: str, code: str) -> None:
    assert find(asked).code == code


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("GL110", "GL101"),
        ("GL1O1", "GL101"),
        ("spent-gradent-reused", "GL101"),
        ("clip", "GL401 (clip-on-scaled-gradients) or GL501 (clip-without-effect)"),
        ("zzz", "`gradledger rules` lists them all"),
        ("", "`gradledger rules` lists them all"),
    ],
)
def test_a_wrong_name_gets_the_nearest_right_ones(asked: str, near: str) -> None:
    with pytest.raises(UnknownRuleError, match=re.escape(near)):
        find(asked)
