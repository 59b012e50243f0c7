"""Which stretch of a run is kept to be played."""

from __future__ import annotations

from gradledger.ledger import Place
from gradledger.ledger.events import Backward, EpochEnd, Event, Step
from gradledger.ledger.page import Page
from gradledger.report.chronicle.filming import AFTER, BEFORE, NEVER, Film, Shot

PAGE = Page()


def _filmed(wanted: int, events: list[Event]) -> list[int]:
    film = Film(wanted)
    for number, event in enumerate(events):
        film.take(number, Shot(number, event, PAGE, PAGE))
    return [shot.turn for shot in film.shots]


def _steps(number: int) -> list[Event]:
    return [Step(Place("train.py", 3), "opt") for _ in range(number)]


def test_a_fault_late_in_a_run_has_what_leads_to_it_and_what_follows() -> None:
    assert _filmed(5_000, _steps(9_000)) == list(range(5_001 - BEFORE, 5_001 + AFTER))


def test_a_fault_at_once_has_what_follows() -> None:
    assert _filmed(2, _steps(900)) == list(range(3 + AFTER))


def test_without_one_it_is_the_beginning() -> None:
    assert _filmed(NEVER, _steps(900)) == list(range(BEFORE + AFTER))


def test_what_moves_no_gradient_takes_no_room() -> None:
    place = Place("train.py", 3)
    events = [EpochEnd(place), *_steps(1), EpochEnd(place), Backward(place, frozenset({"w"}))]
    assert _filmed(NEVER, events) == [1, 3]


def test_pieces_of_one_call_are_one() -> None:
    place = Place("train.py", 3)
    whole = Backward(place, frozenset({"w"}))
    piece = Backward(place, frozenset({"b"}), continues=True)
    assert _filmed(NEVER, [whole, piece, piece, *_steps(1)]) == [0, 3]
