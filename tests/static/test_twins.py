"""Programs that are right by one line, their faulty twins, and others that were misjudged once."""

from __future__ import annotations

from tests.static.programs import ONE_NET, check, correct, each, faulty, finds, shown
from tests.static.twins import TWINS
from tests.static.twins.missed import MISSED
from tests.static.twins.right import RIGHT, SEVERAL_NETS


@each(TWINS, after=ONE_NET)
def test_nothing_is_said_where_the_reason_stands(text: str) -> None:
    assert shown(check(correct(text))) == set()


@each(TWINS, after=ONE_NET)
def test_without_the_reason_the_fault_is_found(text: str) -> None:
    program, expected = faulty(text)
    assert finds(check(program), expected)


@each(RIGHT, after=ONE_NET)
def test_nothing_is_said_of_what_is_right(text: str) -> None:
    assert shown(check(correct(text))) == set()


@each(SEVERAL_NETS, after=ONE_NET)
def test_with_several_nets_at_most_wasted_work_is_told(text: str) -> None:
    found = {rule for rule, _ in shown(check(correct(text)))}
    assert found <= {"GL204"}
    assert ("Source" in text) <= (not found)


@each(MISSED, after=ONE_NET)
def test_what_was_missed_is_found(text: str) -> None:
    program, expected = faulty(text)
    assert finds(check(program), expected)
