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
from tests.static.twins.blamed_in_public_code import PROBES, WASTED

TWINS = {**blamed.TWINS, **missed.TWINS, **weighed.TWINS, **unrelated.TWINS}

_PARTS = "a clear of a part of the net counts as one that may clear all of it"
_ONE = "a window of 1 is taken for no window, whoever may change it"

BLAMED: dict[str, str] = {}
"""Why something is said of the right program."""

MISSED = {
    "a scaler in an attribute is there or not, asked both ways": (
        "a loss that is scaled under one question and stepped under its opposite"
    ),
    "arithmetic of data has no graph": "arithmetic of parameters is not taken for a graph",
    "unknown nets, and a graph that nothing walks again": "an unknown net may keep its outputs",
    "an update with nothing recorded": "an update is only asked for after a step",
    "another's backward comes after the own one": "only backwards before the own one are foreign",
    "optimizer and scheduler come as parameters": "a parameter is not known to be a scheduler",
    "a target net in an agent is not detached": "the target is taken for a net owned elsewhere",
    "a criterion in a list has weights": "modules in a list are not followed to the optimizer",
    "a clear of the head alone": _PARTS,
    "a clear of the head of a library's net alone": _PARTS,
    "a clear in a loop over time": "an inner loop of known length is a probe or a search, perhaps",
    "a window whose size is a class attribute of 1": _ONE,
    "a window whose size is a literal of 1": _ONE,
    "a mean times a ratio": "a factor may be the weight of the micro-batch",
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
