"""The set-of-states interpreter against concrete runs of the same random programs."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import pairwise

import pytest
from hypothesis import Phase, given, reject, settings
from hypothesis import strategies as st

from gradledger.ledger import Breach, Place
from gradledger.ledger.events import (
    Backward,
    Batch,
    Clear,
    Edit,
    EpochEnd,
    Fault,
    Own,
    Schedule,
    Step,
    Weight,
)
from gradledger.rules import judge, stops
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
from gradledger.static.solve.breaches import Visit
from gradledger.static.solve.paths import Paths
from gradledger.static.solve.solver import Solution
from tests.examples import examples
from tests.static.concrete import Run
from tests.strategies import OPENING, programs


def position(visit: Visit) -> tuple[str | int, ...]:
    """Where in the program, whatever the round."""
    rounds = ("first", "second", "later")
    return tuple("round" if part in rounds else part for part in visit)


def compare(program: Program, seeds: list[int], interpreter: Interpreter) -> None:
    """Everything that happens is possible there, and everything certain there happens."""
    program = Sequence((*map(Do, OPENING), program))
    try:
        interpreter.run(program)
    except TooManyPaths:
        reject()
    extents = interpreter.extents()
    visits: defaultdict[tuple[str | int, ...], list[Visit]] = defaultdict(list)
    for visit in interpreter.met:
        visits[position(visit)].append(visit)
    for seed in seeds:
        run = Run(random.Random(seed))
        for where, event in run.events(program):
            breaches: list[tuple[str, Breach]] = [b for b in judge(run.page, event) if b[1].sure]
            observed = {(rule, breach.at) for rule, breach in breaches}
            # The same path may be met in several rounds: each must know it for what it is.
            met = [visit for visit in visits[where] if run.path in interpreter.met[visit]]
            assert met
            for visit in met:
                expected = extents.get(visit, {})
                assert observed <= expected.keys()
                assert {f for f, sure in expected.items() if sure == "all"} <= observed
            if any(stops(rule) for rule, _ in observed):
                break


@given(programs, st.lists(st.integers(0, 10**6), min_size=4, max_size=4))
@examples(1000)  # takes seconds: each is solved, and run four times
def test_what_happens_is_possible_and_what_is_certain_happens(
    program: Program, seeds: list[int]
) -> None:
    compare(program, seeds, Interpreter(judge, stops=stops, most_visits=6000))


class OneRoundOnly(Interpreter):
    """Broken on purpose: gives up the loop's fixpoint after the first round."""

    def _loop(self, loop: Loop, paths: Paths, visit: Visit) -> Paths:
        return paths | self._run(loop.body, paths, (*visit, "first"))


class NeverRaises(Interpreter):
    """Broken on purpose: a `try` is believed to go well."""

    def _try(self, program: Try, paths: Paths, visit: Visit) -> Paths:
        return self._run(program.body, paths, (*visit, "try"))


@pytest.mark.parametrize("broken", [OneRoundOnly, NeverRaises])
def test_a_broken_interpreter_is_noticed(broken: type[Interpreter]) -> None:
    @given(programs, st.lists(st.integers(0, 10**6), min_size=4, max_size=4))
    # That it fails is enough: to look for the shortest program that shows it takes longest.
    @settings(
        max_examples=1500,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        phases=[Phase.generate],
    )
    def comparison(program: Program, seeds: list[int]) -> None:
        compare(program, seeds, broken(judge, stops=stops, most_visits=6000))

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
    interpreter = Interpreter(judge, stops=stops)
    program = Sequence((OWN, *parts))
    interpreter.run(program)
    return {f.rule: f.certainty for f in by_paths(Solution(program, interpreter))}


def test_a_loop_that_never_clears_is_certain_although_its_first_step_is_innocent() -> None:
    assert verdict(Loop(Sequence((BACKWARD, STEP)))) == {"GL101": "certain"}


def test_a_schedule_that_is_early_on_some_ways_to_its_line_and_on_others_never_is_possible() -> (
    None
):
    moves = Do(Schedule(at(6), "schedule", "opt"))
    spends = Sequence((BACKWARD, STEP, CLEAR))
    early = Sequence((Branch(spends, Sequence(())), moves))
    program = Sequence((OWN, Branch(early, Sequence((spends, moves)))))
    interpreter = Interpreter(judge, stops=stops)
    interpreter.run(program)
    found = {f.rule: f.certainty for f in by_paths(Solution(program, interpreter), {"amp"})}
    assert found == {"GL503": "possible"}


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


STARTS, ENDS = "starts", "ends"
TICK = Tick(STARTS, ENDS)
NOTHING = Sequence(())


def test_a_window_that_clears_in_each_micro_batch_is_certain_to_drop_one() -> None:
    loop = Loop(Sequence((TICK, BATCH, CLEAR, BACKWARD, Branch(STEP, NOTHING, ENDS))))
    assert verdict(loop) == {"GL201": "certain"}


def test_a_window_that_clears_at_its_start_is_right() -> None:
    start, end = Branch(CLEAR, NOTHING, STARTS), Branch(STEP, NOTHING, ENDS)
    assert verdict(Loop(Sequence((TICK, BATCH, start, BACKWARD, end)))) == {}


def test_a_window_is_left_over_unless_the_last_round_steps_too() -> None:
    def epochs(condition: Program, last: str | None) -> dict[str, str]:
        batches = Loop(Sequence((TICK, BATCH, BACKWARD, condition)), last=last)
        end = Do(EpochEnd(at(9), restarts=True))
        return verdict(Loop(Sequence((Forget(STARTS), Forget(ENDS), batches, end))))

    update = Sequence((STEP, CLEAR))
    assert epochs(Branch(update, NOTHING, ENDS), None) == {"GL203": "possible"}
    flushed = Branch(update, Branch(update, NOTHING, "last"), ENDS)
    assert epochs(flushed, "last") == {}


def test_a_continue_before_anything_happens_does_not_hide_what_comes_later() -> None:
    skip = Branch(Leave("continue"), NOTHING, "empty")
    loop = Loop(Sequence((Forget("empty"), skip, BACKWARD, STEP)), anew=frozenset({"empty"}))
    assert verdict(loop) == {"GL101": "certain"}


def test_a_break_leaves_the_loop_and_a_return_the_call() -> None:
    loop = Loop(Sequence((BACKWARD, STEP, Leave("break"))))
    assert verdict(loop) == {}
    assert verdict(Loop(Call(Sequence((BACKWARD, STEP, Leave("return"), CLEAR))))) == {
        "GL101": "certain"
    }


def test_what_an_exception_leaves_behind_is_spent_by_the_next_step() -> None:
    torn = Try(Sequence((BACKWARD, STEP, CLEAR)), NOTHING, Fault(at(8)))
    assert verdict(Loop(torn))["GL902"] == "possible"
    cleared = Try(Sequence((BACKWARD, STEP, CLEAR)), CLEAR, Fault(at(8)))
    assert verdict(Loop(cleared)) == {}


def test_an_option_that_breaks_a_law_is_certain_for_those_who_choose_it() -> None:
    loop = Loop(
        Branch(Sequence((BACKWARD, STEP)), Sequence((CLEAR, BACKWARD, STEP)), condition="amp")
    )
    interpreter = Interpreter(judge, stops=stops)
    program = Sequence((OWN, loop))
    interpreter.run(program)
    found = by_paths(Solution(program, interpreter), {"amp"})
    assert [(f.rule, f.certainty) for f in found] == [("GL101", "certain")]


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
