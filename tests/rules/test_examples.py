"""Each rule's predicate, judged on what its example programs really do under torch."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from gradledger.ledger.book import Book
from gradledger.ledger.events import Event
from gradledger.rules import CATALOGUE, YIELDS_TO, Rule, judge
from gradledger.rules.programs import Program, bad, good
from tests.observer.kept import observed

every_rule = pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: rule.code)

Reported = set[tuple[str, int]]
"""Rules and the lines where they are reported broken."""


@every_rule
def test_the_bad_program_breaks_its_rule_at_the_marked_lines_and_no_other(rule: Rule) -> None:
    program = bad(rule)
    assert reported(program) == {(rule.code, line) for line in program.marks}


@every_rule
def test_the_good_program_breaks_no_rule(rule: Rule) -> None:
    assert reported(good(rule)) == set()


@pytest.mark.parametrize("rule", [r for r in CATALOGUE if r.stops], ids=lambda rule: rule.code)
def test_torch_itself_ends_the_bad_program_of_a_rule_that_stops(rule: Rule) -> None:
    (seen,) = observed(bad(rule).path)
    assert seen.error is not None


def reported(program: Program) -> Reported:
    """What the rules say to the events of a program, on all of its ranks."""
    ranks = 2 if "init_process_group" in program.source else 1
    seen = observed(program.path, ranks=ranks)
    return {found for rank in seen for found in findings(rank.events)}


def findings(events: Iterable[Event]) -> Reported:
    """What the rules say to these events."""
    book = Book(judge, yields_to=YIELDS_TO)
    for event in events:
        book.post(event)
    return {(finding.rule, finding.at.line) for finding in book.findings}
