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

_TWO_QUESTIONS = "a conditional expression does not split paths, so its flag is two questions"
_RATE = "a rate out of param_groups that is printed counts as a look at the gradients"
_PARTS = "a clear of a part of the net counts as one that may clear all of it"
_BY_NAME = "a divisor is known by its name, and not by its value"
_ONE = "a window of 1 is taken for no window, whoever may change it"

BLAMED = {
    "a conditional expression and a later if ask the same": _TWO_QUESTIONS,
    "a flag in an attribute of a base class is asked twice": _TWO_QUESTIONS,
    "a method makes a leaf and its optimizer anew": "what each call makes is taken for one object",
    "a net is frozen outside its own turn": "what a string was compared with is forgotten",
    "arithmetic of data has no graph": "what changes .data in place is taken for a sum of graphs",
    "what is left is stepped in a try behind the loop": "a flush in a try is not taken for one",
}
"""Why something is said of the right program."""

MISSED = {
    "a conditional expression and a later if ask the same": _TWO_QUESTIONS,
    "a flag in an attribute of a base class is asked twice": _TWO_QUESTIONS,
    "a scaler in an attribute is there or not, asked both ways": (
        "a loss that is scaled under one question and stepped under its opposite"
    ),
    "arithmetic of data has no graph": "arithmetic of parameters is not taken for a graph",
    "a rate in a progress bar reads no gradient": _RATE,
    "a rate beside a window whose micro-batches are each cleared": _RATE,
    "unknown nets, and a graph that nothing walks again": "an unknown net may keep its outputs",
    "an update with nothing recorded": "an update is only asked for after a step",
    "an unscale that neither a step nor an update follows": "a clear forgets the unscale before it",
    "another's backward comes after the own one": "only backwards before the own one are foreign",
    "optimizer and scheduler come as parameters": "a parameter is not known to be a scheduler",
    "a target net in an agent is not detached": "the target is taken for a net owned elsewhere",
    "a criterion in a list has weights": "modules in a list are not followed to the optimizer",
    "a clear that is not called": "a bound clear that escapes may be called by anyone",
    "a clear on some steps only": "a clear under a question makes the fault only possible",
    "a clear of the head alone": _PARTS,
    "a clear of the head of a library's net alone": _PARTS,
    "a clear in a loop over time": "an inner loop of known length is a probe or a search, perhaps",
    "a window whose size is a class attribute of 1": _ONE,
    "a window whose size is a literal of 1": _ONE,
    "a helper computes the mean": "a mean in a dict that a helper returns is not seen",
    "a mean times a ratio": "a factor may be the weight of the micro-batch",
    "Accelerate divides, and the code by another name": _BY_NAME,
    "the Trainer divides, and compute_loss by another name": _BY_NAME,
    "Lightning divides, and training_step by another name": _BY_NAME,
    "DeepSpeed divides, and so does the code": "what an engine steps is not followed here",
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


@each(
    PROBES,
    after=ONE_NET,
    wrong={"a probe is cleared, and a comment says so": "comments are not read"},
)
def test_nothing_is_said_of_a_probe(text: str) -> None:
    assert shown(check(correct(text))) == set()


def test_a_file_that_trains_through_an_import_is_never_called_empty() -> None:
    text = ONE_NET + dedent(missed.TWINS["an imported object deposits and steps"])
    checked = check(correct(text))
    assert checked.followed or checked.unknown


@pytest.mark.xfail(strict=True, reason="rounds that may not be, and no_grad, are not looked at")
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
