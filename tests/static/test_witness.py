"""A witness is a path of the program, and the rule is really broken at its end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, reject

from gradledger.ledger import Finding, Page, post
from gradledger.ledger.cells import SATURATING
from gradledger.ledger.events import Event, Step
from gradledger.rules import CATALOGUE, Rule, judge, stops
from gradledger.rules.programs import bad
from gradledger.static import (
    Branch,
    Call,
    Do,
    Forget,
    Interpreter,
    Leave,
    Loop,
    Program,
    Sequence,
    Tick,
    TooManyPaths,
    Try,
)
from gradledger.static.certainty.findings import by_paths
from gradledger.static.solve.small_steps import Decision
from gradledger.static.solve.solver import Solution
from gradledger.static.solve.witness import Search, Trail
from tests.examples import examples
from tests.static.expectations import checked
from tests.static.programs import ONE_NET, check
from tests.strategies import OPENING, programs

RULES = [rule for rule in CATALOGUE if rule.seen_by.by_check]
MOST = 1500


def cheap(decision: Decision) -> int:
    return 100 if decision.kind == "require" else 1


def replayed(trail: Trail) -> set[tuple[str, object]]:
    """What the last event of a path breaks, on the page that the others have led to."""
    page = Page(counting=SATURATING)
    for happening in trail.happenings[:-1]:
        assert happening.page == page
        page = post(happening.event, page)
    return {(rule, breach.at) for rule, breach in judge(page, trail.happenings[-1].event)}


@given(programs)
@examples(300)
def test_what_a_witness_shows_breaks_the_rule_at_that_place(program: Program) -> None:
    program = Sequence((*map(Do, OPENING), program))
    interpreter = Interpreter(judge, stops=stops, most_visits=2000)
    try:
        interpreter.run(program)
    except TooManyPaths:
        reject()
    for finding in by_paths(Solution(program, interpreter)):
        fault = finding.rule, finding.at
        search = Search(program, judge, stops=stops, budget=MOST)
        for trail in (search.cheapest(fault, cheap), search.counted(fault, cheap)):
            if trail is not None:
                assert fault in replayed(trail)
                assert events(trail) in Walks(program)


def events(trail: Trail) -> list[Event]:
    return [happening.event for happening in trail.happenings]


class Walks:
    """The sequences of events that a program allows, whatever its conditions say."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def __contains__(self, wanted: list[Event]) -> bool:
        self._wanted = wanted
        ends = _Ends()
        after = self._run(self._program, frozenset({0}), ends)
        return len(wanted) in after | ends.all | ends.met

    def _run(self, program: Program, at: frozenset[int], ends: _Ends) -> frozenset[int]:
        """From so many events seen to so many."""
        ends.met |= at
        match program:
            case Do(event):
                return frozenset(n + 1 for n in at if self._wanted[n : n + 1] == [event])
            case Sequence(parts):
                for part in parts:
                    at = self._run(part, at, ends)
                return at
            case Branch(then, orelse):
                return self._run(then, at, ends) | self._run(orelse, at, ends)
            case Loop(body):
                seen = at
                inner = _Ends()
                while new := self._run(body, seen, inner) | inner.all | seen:
                    if new == seen:
                        break
                    seen = new
                ends.all |= inner.all
                ends.met |= inner.met
                return seen
            case Call(body):
                inner = _Ends()
                at = self._run(body, at, inner)
                ends.all |= inner.all
                ends.met |= inner.met
                return at | inner.all
            case Try(body, handler, fault):
                inner = _Ends()
                after = self._run(body, at, inner)
                broken = inner.met | inner.all | after
                ends.all |= inner.all
                ends.met |= inner.met
                if fault is not None:
                    broken = self._run(Do(fault), broken, ends)
                return after | self._run(handler, broken, ends)
            case Leave():
                ends.all |= at
                return frozenset()
            case Forget() | Tick():
                return at
            case _:
                return at


class _Ends:
    def __init__(self) -> None:
        self.all: frozenset[int] = frozenset()
        self.met: frozenset[int] = frozenset()


def shown(findings: tuple[Finding, ...], rule: Rule) -> Iterator[Finding]:
    found = [finding for finding in findings if finding.rule == rule.code]
    assert found
    yield from found


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_witness_of_a_bad_example_leads_from_a_deposit_or_clear_to_the_finding(
    rule: Rule,
) -> None:
    for finding in shown(checked(bad(rule).path).findings, rule):
        assert finding.witness
        first, last = finding.witness[0], finding.witness[-1]
        assert first.what in ("deposited", "cleared", "changed") or first.at == finding.at
        assert str(finding.at) in {str(step.at) for step in finding.witness}
        # Some findings stand where the cause is, and are broken by what the evidence points at.
        assert last.at in finding.places or last.what in ("deposited", "spent", "ended")


def test_the_rounds_of_a_path_are_told() -> None:
    body = "    criterion(model(x), y).backward()\n    optimizer.step()\n"
    (finding,) = check(f"{ONE_NET}for x, y in loader:\n{body}").findings
    told = [(step.when, step.what, step.at.line) for step in finding.witness]
    line = finding.at.line
    assert told == [
        ("iteration 1", "deposited", line - 1),
        ("iteration 1", "spent", line),
        ("iteration 2", "deposited", line - 1),
        ("iteration 2", "spent", line),
    ]
    assert finding.assumptions == ("the loop runs at least twice",)


def test_a_search_without_a_budget_says_nothing() -> None:
    program = Sequence((*map(Do, OPENING), Do(Step(OPENING[0].at, "G"))))
    search = Search(program, judge, budget=1)
    assert search.cheapest(("GL202", OPENING[0].at), cheap) is None
    assert not search.exhausted


def test_a_breach_that_is_not_there_is_known_not_to_be() -> None:
    program = Sequence((*map(Do, OPENING),))
    search = Search(program, judge)
    assert search.cheapest(("GL101", OPENING[0].at), cheap) is None
    assert search.exhausted


WINDOW = """\
for i, (x, y) in enumerate(loader):
    criterion(model(x), y).backward()
    if (i + 1) % {size} == 0:
        optimizer.step()
"""


@pytest.mark.parametrize("size", [3, 4, 8])
def test_a_witness_has_as_many_micro_batches_as_the_source_says(size: int) -> None:
    found = {f.rule: f for f in check(ONE_NET + WINDOW.format(size=size)).findings}
    assert found["GL301"].detail == f"adds up {size} means, none divided"
    assert found["GL101"].detail == f"spends {2 * size} deposits, {size} of them spent before"
    rounds = [step.when for step in found["GL301"].witness if step.what == "deposited"]
    assert rounds == [f"iteration {n + 1}" for n in range(size)]


def test_of_larger_windows_a_witness_counts_two() -> None:
    found = {f.rule: f for f in check(ONE_NET + WINDOW.format(size=100)).findings}
    assert found["GL301"].detail == "adds up 2 means, none divided"
