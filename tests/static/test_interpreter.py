"""The set-of-states interpreter against concrete runs of the same random programs."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from gradledger.ledger import Breach, Page, Place, post
from gradledger.ledger.events import Backward, Batch, Clear, Edit, Event, Own, Step, Weight
from gradledger.rules import CATALOGUE, YIELDS_TO, judge
from gradledger.static import (
    Branch,
    Do,
    Forget,
    Interpreter,
    Loop,
    Program,
    Sequence,
    TooManyPaths,
)
from gradledger.static.interpreter import Paths, Visit
from tests.strategies import OPENING, programs

STOPS = frozenset(rule.code for rule in CATALOGUE if rule.stops)
Trace = Iterator[tuple[Visit, Event]]


def concrete(
    program: Program, choice: random.Random, visit: Visit, facts: dict[str, bool]
) -> Trace:
    """One path through the program, as a real run would take it."""
    match program:
        case Do(event):
            yield visit, event
        case Sequence(parts):
            for i, part in enumerate(parts):
                yield from concrete(part, choice, (*visit, i), facts)
        case Branch(then, orelse, condition):
            answer = choice.random() < 0.5
            if condition is not None:
                answer = facts.setdefault(condition, answer)
            side = ("then", then) if answer else ("else", orelse)
            yield from concrete(side[1], choice, (*visit, side[0]), facts)
        case Loop(body):
            for round_ in range(choice.randint(0, 4)):
                phase = "first" if round_ == 0 else "later"
                yield from concrete(body, choice, (*visit, phase), facts)
        case Forget(condition):
            facts.pop(condition, None)


def compare(program: Program, seeds: list[int], interpreter: Interpreter) -> None:
    """Everything that happens is possible there, and everything certain there happens."""
    program = Sequence((*map(Do, OPENING), program))
    try:
        interpreter.run(program)
    except TooManyPaths:
        reject()
    verdicts = interpreter.verdicts()
    for seed in seeds:
        page = Page()
        for visit, event in concrete(program, random.Random(seed), (), {}):
            breaches: list[tuple[str, Breach]] = [b for b in judge(page, event) if b[1].sure]
            observed = {(rule, breach.at) for rule, breach in breaches}
            expected = verdicts.get(visit, {})
            assert observed <= expected.keys()
            assert {f for f, certainty in expected.items() if certainty == "certain"} <= observed
            if any(rule in STOPS for rule, _ in observed):
                break
            page = post(event, page)


@given(programs, st.lists(st.integers(0, 10**6), min_size=4, max_size=4))
@settings(max_examples=1500, deadline=None)
def test_what_happens_is_possible_and_what_is_certain_happens(
    program: Program, seeds: list[int]
) -> None:
    compare(program, seeds, Interpreter(judge, stops=STOPS, most_visits=6000))


class OneRoundOnly(Interpreter):
    """Broken on purpose: gives up the loop's fixpoint after the first round."""

    def _loop(self, body: Program, paths: Paths, visit: Visit) -> Paths:
        return paths | self._run(body, paths, (*visit, "first"))


class NoFirstRound(Interpreter):
    """Broken on purpose: takes the first round for one of the later ones."""

    def _loop(self, body: Program, paths: Paths, visit: Visit) -> Paths:
        once = self._run(body, paths, (*visit, "later"))
        return paths | super()._loop(body, once, visit)


@pytest.mark.parametrize("broken", [OneRoundOnly, NoFirstRound])
def test_a_broken_fixpoint_is_noticed(broken: type[Interpreter]) -> None:
    @given(programs, st.lists(st.integers(0, 10**6), min_size=4, max_size=4))
    @settings(max_examples=1500, deadline=None, database=None, report_multiple_bugs=False)
    def comparison(program: Program, seeds: list[int]) -> None:
        compare(program, seeds, broken(judge, stops=STOPS, most_visits=6000))

    with pytest.raises(AssertionError):
        comparison()


# Programs that people write ------------------------------------------------------------------


def at(line: int) -> Place:
    return Place("train.py", line)


CELLS = frozenset({"w"})
OWN = Do(Own(at(1), "opt", CELLS))
BATCH = Do(Batch(at(2)))
CLEAR = Do(Clear(at(3), CELLS))
BACKWARD = Do(Backward(at(4), CELLS))
STEP = Do(Step(at(5), "opt"))


def verdict(*parts: Program) -> dict[str, str]:
    interpreter = Interpreter(judge, stops=STOPS)
    interpreter.run(Sequence((OWN, *parts)))
    return {f.rule: f.certainty for f in interpreter.findings(YIELDS_TO)}


def test_a_loop_that_never_clears_is_certain_although_its_first_step_is_innocent() -> None:
    assert verdict(Loop(Sequence((BACKWARD, STEP)))) == {"GL101": "certain"}


def test_a_clear_before_the_loop_alone_does_not_help() -> None:
    assert verdict(CLEAR, Loop(Sequence((BACKWARD, STEP))))["GL101"] == "certain"


@pytest.mark.parametrize(
    "body",
    [(CLEAR, BACKWARD, STEP), (BACKWARD, STEP, CLEAR), (BACKWARD, CLEAR, BACKWARD, STEP)],
    ids=["clear first", "clear last", "clear between"],
)
def test_the_place_of_the_clear_in_the_loop_decides(body: tuple[Program, ...]) -> None:
    clean = body[1] is not CLEAR
    assert ("GL201" not in verdict(Loop(Sequence(body)))) == clean


def test_a_condition_tested_twice_keeps_its_answer() -> None:
    nothing = Sequence(())
    loop = Loop(
        Sequence(
            (
                Branch(CLEAR, nothing, "amp"),
                BACKWARD,
                STEP,
                Branch(nothing, CLEAR, "amp"),
            )
        )
    )
    assert verdict(loop) == {}


def test_a_condition_that_changes_in_between_is_forgotten() -> None:
    nothing = Sequence(())
    loop = Loop(
        Sequence(
            (
                Branch(CLEAR, nothing, "amp"),
                BACKWARD,
                STEP,
                Forget("amp"),
                Branch(nothing, CLEAR, "amp"),
                Forget("amp"),
            )
        )
    )
    assert verdict(loop)["GL101"] == "possible"


def test_a_window_of_undivided_means_is_certain_once_it_has_two_batches() -> None:
    mean = Do(Backward(at(4), CELLS, Weight("mean", 1)))
    window = Sequence((BATCH, mean, BATCH, mean, STEP, CLEAR))
    assert verdict(Loop(window)) == {"GL301": "certain"}


def test_a_divided_window_of_unknown_length_is_at_most_possible() -> None:
    mean = Do(Backward(at(4), CELLS, Weight("mean", 4)))
    inner = Loop(Sequence((BATCH, mean)))
    found = verdict(Loop(Sequence((inner, STEP, CLEAR))))
    assert "certain" not in found.values()


def test_too_many_paths_are_refused_by_name_and_not_followed_for_ever() -> None:
    steps = [Do(Clear(at(100 + i), frozenset({f"p{i}"}))) for i in range(20)]
    deposits = [Do(Backward(at(200 + i), frozenset({f"p{i}"}))) for i in range(20)]
    forks = tuple(Branch(a, b) for a, b in zip(steps, deposits, strict=True))
    with pytest.raises(TooManyPaths, match=r"more than 1000 pages to follow, at train\.py"):
        Interpreter(judge, most_visits=1000).run(Sequence(forks))


def test_a_loop_with_one_new_page_in_every_round_is_given_up_too() -> None:
    halved = Do(Edit(at(5), CELLS, "scale", 0.5))
    mean = Do(Backward(at(4), CELLS, Weight("mean", 1)))
    with pytest.raises(TooManyPaths, match=r"at train\.py:5"):
        Interpreter(judge, most_visits=500).run(Sequence((OWN, mean, Loop(halved))))


def test_loops_are_followed_only_as_long_as_they_show_something_new() -> None:
    interpreter = Interpreter(judge)
    end = interpreter.run(Sequence((OWN, Loop(Sequence((BATCH, BACKWARD))))))
    counts = sorted(sum(h.count for _, c in page.groups for h in c.holdings) for page, _ in end)
    assert counts == [0, 1, 2]
    assert all(a < b for a, b in pairwise(counts))
