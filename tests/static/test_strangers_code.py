"""Causes of false and of missed findings in code that was read for the first time.

Each stands as a right program and its faulty twin. What does not hold yet is an expected failure,
with its reason; whoever mends a cause takes it out of the table.
"""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.static.programs import ONE_NET, check, correct, each, faulty, shown
from tests.static.twins import blamed_in_public_code as blamed
from tests.static.twins import missed_in_public_code as missed
from tests.static.twins import unrelated_notes as unrelated
from tests.static.twins import weighed_in_public_code as weighed
from tests.static.twins.blamed_in_public_code import WASTED
from tests.static.twins.deliberate import PROBES

TWINS = {**blamed.TWINS, **missed.TWINS, **weighed.TWINS, **unrelated.TWINS}

BLAMED: dict[str, str] = {}
"""Why something is said of the right program."""

MISSED = {
    "arithmetic of data has no graph": (
        "what is computed of each parameter in turn, as averages of weights are, has no graph here"
    ),
    "another's backward comes after the own one": (
        "two losses that are trained together look the same: both backwards come before the steps"
    ),
}
"""Why the fault is not found, or something else is said beside it."""


@each(TWINS, after=ONE_NET, wrong=BLAMED)
def test_nothing_is_said_of_the_right_program(text: str) -> None:
    assert shown(check(correct(text))) == set()


@each(TWINS, after=ONE_NET, wrong=MISSED)
def test_the_fault_is_found_and_nothing_else(text: str) -> None:
    program, expected = faulty(text)
    # What a reader sees who asks for nothing: a fault that is only possible is missed.
    assert shown(check(program)) == expected


@each(PROBES, after=ONE_NET)
def test_nothing_is_said_of_a_probe(text: str) -> None:
    assert shown(check(correct(text))) == set()


def test_a_clear_is_a_probe_only_by_the_comment_that_says_so() -> None:
    text = ONE_NET + dedent(PROBES["a probe is cleared, and a comment says so"])
    said = next(line for line in text.splitlines() if "# a fake step" in line)
    assert {rule for rule, _ in shown(check(text.replace(said, "        # the next batch")))} == {
        "GL201"
    }


def test_a_file_that_trains_through_an_import_is_never_called_empty() -> None:
    text = ONE_NET + dedent(missed.TWINS["an imported object deposits and steps"])
    checked = check(correct(text))
    assert checked.followed or checked.unknown


@pytest.mark.parametrize("name", WASTED)
def test_waste_is_told_only_of_the_backward_that_causes_it(name: str) -> None:
    program, clear, cause = WASTED[name]
    text = ONE_NET + dedent(program)
    at = text[: text.index(dedent(clear))].count("\n") + 1
    deposits = {
        text.splitlines()[evidence.at.line - 1].strip()
        for finding in check(text).findings
        if finding.rule == "GL204" and finding.at.line == at and finding.certainty == "certain"
        for evidence in finding.evidence
        if evidence.what == "deposited" and evidence.at is not None
    }
    assert deposits == ({cause} if cause else set())
