"""Ranks side by side: one verdict, and the turns in which they went separate ways."""

from __future__ import annotations

from collections.abc import Iterable

from gradledger.ledger import Place
from gradledger.ledger.events import Backward, Clear, Event, Step
from gradledger.recording import RunInfo
from gradledger.report.chronicle import Chronicle, Difference, differences, together
from tests.report.chronicle.recorded import chronicle_of
from tests.strategies import OPENING, OWNED

G = OWNED["G"]


def at(line: int) -> Place:
    return Place("train.py", line)


def turn(deposits: int = 1, *, clear: bool = True) -> list[Event]:
    made: list[Event] = [*[Backward(at(10), G)] * deposits, Step(at(11), "G")]
    return [*made, Clear(at(12), G)] if clear else made


def rank(number: int, events: Iterable[Event], world: int = 2) -> Chronicle:
    run = RunInfo("train.py", rank=number, world_size=world)
    return chronicle_of([*OPENING, *events], run=run)


def test_ranks_that_do_the_same_do_not_differ() -> None:
    assert differences([rank(0, turn() * 5), rank(1, turn() * 5)]) == ()
    assert differences([rank(0, turn() * 5)]) == ()


def test_turns_that_differ_are_told_as_one_stretch_with_what_each_did() -> None:
    zero = rank(0, [*turn(), *turn(2), *turn(2), *turn()])
    one = rank(1, turn() * 4)
    assert differences([zero, one]) == (
        Difference(
            1,
            2,
            (1,),
            "rank 0: 1 clear, 2 deposits, 1 spend; rank 1: 1 clear, 1 deposit, 1 spend",
        ),
    )


def test_stretches_of_different_ranks_are_told_apart() -> None:
    zero = rank(0, turn() * 3, world=3)
    one = rank(1, [*turn(), *turn(2), *turn()], world=3)
    two = rank(2, [*turn(), *turn(), *turn(2)], world=3)
    found = [(d.turn, d.last_turn, d.ranks) for d in differences([zero, one, two])]
    assert found == [(1, 1, (1,)), (2, 2, (2,))]


def test_a_rank_that_ends_first_differs_from_there_on() -> None:
    (difference,) = differences([rank(0, turn(clear=False) * 3), rank(1, turn(clear=False))])
    assert (difference.turn, difference.last_turn) == (1, 2)
    assert difference.what.endswith("rank 1: has ended")


def test_one_verdict_names_the_ranks_that_only_some_findings_are_of() -> None:
    verdict = together([rank(1, turn(clear=False) * 3), rank(0, turn() * 3)])
    assert verdict.ranks == 2
    (finding,) = verdict.findings
    assert finding.rule == "GL101"
    assert [(e.what, e.note) for e in finding.evidence if e.at is None][-1] == ("on rank", "1")


def test_ranks_that_left_no_recording_are_named() -> None:
    assert together([rank(1, turn(), world=3)]).trouble == "nothing was heard from rank 0, 2"


def test_a_run_alone_has_its_own_verdict() -> None:
    alone = rank(0, turn(), world=1)
    assert together([alone]) is alone.verdict
