"""Questions without a name: the paths are fewer, and what is found is the same."""

from __future__ import annotations

from hypothesis import given, reject

from gradledger.ledger import Place
from gradledger.ledger.events import Batch
from gradledger.ledger.values import replace
from gradledger.rules import judge, stops
from gradledger.static.certainty.findings import by_paths
from gradledger.static.ir.blocks import conditions_in
from gradledger.static.ir.dependence import independent
from gradledger.static.ir.program import (
    NOTHING,
    Branch,
    Call,
    Do,
    Forget,
    Loop,
    Program,
    Sequence,
    Try,
)
from gradledger.static.solve.interpreter import Interpreter, TooManyPaths
from gradledger.static.solve.solver import Solution
from tests.examples import examples
from tests.strategies import OPENING, programs

EVENT = Do(Batch(Place("train.py", 1)))


def asks(name: str | None) -> Branch:
    return Branch(EVENT, NOTHING, name)


def seq(*parts: Program) -> Sequence:
    return Sequence(parts)


def test_what_is_asked_once_after_it_was_forgotten_needs_no_name() -> None:
    assert independent(seq(Forget("a"), EVENT, asks("a"))) == seq(Forget("a"), EVENT, asks(None))


def test_what_is_asked_twice_has_the_same_answer_twice() -> None:
    program = seq(Forget("a"), asks("a"), asks("a"))
    assert independent(program) == program


def test_what_was_never_forgotten_is_remembered_for_the_next_round() -> None:
    program = Loop(seq(EVENT, asks("a")), 0)
    assert independent(program) == program


def test_what_is_forgotten_before_a_loop_is_the_same_in_all_its_rounds() -> None:
    program = seq(Forget("a"), Loop(seq(EVENT, asks("a")), 0))
    assert independent(program) == program


def test_what_is_forgotten_in_each_round_is_asked_anew_wherever_that_is() -> None:
    inner = Try(Call(Branch(asks("a"), EVENT, "b")), EVENT, None)
    known = Try(Call(Branch(asks(None), EVENT, "b")), EVENT, None)
    program, less = (Loop(seq(Forget("a"), part), 0) for part in (inner, known))
    assert independent(program) == less


def test_what_is_forgotten_on_one_way_only_is_remembered() -> None:
    program = seq(Branch(Forget("a"), EVENT, None), asks("a"))
    assert independent(program) == program


def anew(program: Program) -> Program:
    """The same, where each round of a loop forgets some of what it is going to ask."""
    match program:
        case Loop(body):
            names = sorted(conditions_in(body))[: 1 + len(repr(body)) % 2]
            return replace(program, body=Sequence((*map(Forget, names), anew(body))))
        case Sequence(parts):
            return Sequence(tuple(map(anew, parts)))
        case Branch(then, orelse, name):
            return Branch(anew(then), anew(orelse), name)
        case Call(body):
            return replace(program, body=anew(body))
        case Try(body, handler):
            return replace(program, body=anew(body), handler=anew(handler))
        case _:
            return program


@given(programs)
@examples(500)  # takes seconds: each is solved twice
def test_what_is_found_is_the_same_with_and_without_names(program: Program) -> None:
    program = anew(seq(*map(Do, OPENING), program))
    found = []
    for same in (program, independent(program)):
        interpreter = Interpreter(judge, stops=stops, most_visits=6000)
        try:
            interpreter.run(same)
        except TooManyPaths:
            reject()
        found.append({(f.rule, f.at, f.certainty) for f in by_paths(Solution(same, interpreter))})
    assert found[0] == found[1]
