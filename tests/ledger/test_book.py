"""The book: findings once per place, tallies, and a memory that stays bounded."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from gradledger.ledger import Book, Breach, Evidence, Finding, Outcomes, Page, Place, one_per_fault
from gradledger.ledger.events import (
    Backward,
    Batch,
    Clear,
    EpochEnd,
    Event,
    Gone,
    Own,
    Skipped,
    Step,
)
from gradledger.ledger.values import replace
from gradledger.rules import judge
from tests.examples import examples
from tests.strategies import OPENING, event_lists


def at(line: int) -> Place:
    return Place("train.py", line)


W = frozenset({"weight", "bias"})


def test_a_finding_is_one_per_place_with_its_count_and_all_its_cells() -> None:
    def complain(page: Page, event: Event) -> Iterator[tuple[str, Breach]]:
        if isinstance(event, Step):
            name = "weight" if event.optimizer == "A" else "bias"
            yield "GL101", Breach(event.at, f"by {event.optimizer}", cells=frozenset({name}))

    book = Book(complain)
    new = book.post(Step(at(1), "A"))
    again = book.post(Step(at(1), "B"))
    book.post(Step(at(2), "A"))
    assert [f.count for f in (*new, *again)] == [1, 2]
    first, second = book.findings
    assert (first.at, first.count, first.detail, first.cells) == (at(1), 2, "by A", W)
    assert (second.at, second.count) == (at(2), 1)


def test_a_breach_that_is_not_sure_is_no_observation() -> None:
    def doubt(page: Page, event: Event) -> Iterator[tuple[str, Breach]]:
        yield "GL302", Breach(event.at, "perhaps", sure=False)

    book = Book(doubt)
    assert book.post(Batch(at(1))) == ()
    assert book.findings == ()


def test_skipped_steps_are_counted_apart_and_spend_nothing() -> None:
    book = Book()
    for event in (
        Own(at(1), "opt", W),
        Backward(at(2), W),
        Skipped(at(3), "opt", "scaler"),
        Clear(at(4), W),
        Backward(at(2), W),
        Step(at(3), "opt"),
    ):
        book.post(event)
    tally = book.tally
    assert (tally.steps, tally.skipped_steps, tally.backwards) == (1, 1, 2)
    assert (tally.entries, tally.spent, tally.lost) == (4, 2, 2)


def test_a_loop_comes_round_to_the_same_pages() -> None:
    outcomes, page = Outcomes(judge), Page()
    loop = [Batch(at(2)), Backward(at(3), W), Step(at(4), "opt"), Clear(at(5), W)]
    for event in [Own(at(1), "opt", W), *loop * 1000]:
        page = outcomes.of(page, event).page
    assert len(outcomes) < 20


def test_what_never_repeats_is_forgotten_in_time() -> None:
    outcomes, page = Outcomes(judge, most=50), Page()
    for _ in range(500):
        page = outcomes.of(page, Backward(at(3), W)).page
        assert len(outcomes) <= 50
    assert page.groups[0][1].holdings[0].count == 500


@given(event_lists)
@examples(100)
def test_a_short_memory_changes_nothing(happened: list[Event]) -> None:
    book, outcomes, page = Book(judge), Outcomes(judge, most=1), Page()
    for event in [*OPENING, *happened]:
        book.post(event)
        page = outcomes.of(page, event).page
    assert page == book.page


@given(event_lists, st.sampled_from([1, 2, 3, 10_000]))
@examples(100)
def test_what_comes_next_need_not_be_what_came_next_before(
    happened: list[Event], most: int
) -> None:
    """The book knows events again by identity; one that is told copies never does."""
    remembers, knows_none = Book(judge), Book(judge)
    with patch("gradledger.ledger.book.MOST", most):
        for event in [*OPENING, *happened, *happened[::-1], *happened]:
            assert remembers.post(event) == knows_none.post(replace(event))
    assert remembers.page == knows_none.page
    assert remembers.tally == knows_none.tally
    assert remembers.findings == knows_none.findings
    assert remembers.occurrences == knows_none.occurrences


def finding(rule: str, line: int, *evidence: int, certainty: str = "observed") -> Finding:
    places = tuple(Evidence("deposited", at(n)) for n in evidence)
    return Finding(rule, at(line), "", certainty, places)  # type: ignore[arg-type]


def test_a_symptom_gives_way_only_to_a_cause_that_it_shares_a_place_with() -> None:
    yields_to = {"GL401": frozenset({"GL402"})}
    symptom, cause, elsewhere = (
        finding("GL401", 5, 4),
        finding("GL402", 6, 4),
        finding("GL402", 9, 8),
    )
    assert one_per_fault([symptom, cause], yields_to) == (cause,)
    assert one_per_fault([symptom, elsewhere], yields_to) == (symptom, elsewhere)
    assert one_per_fault([symptom, cause], {}) == (symptom, cause)


def test_nothing_certain_gives_way_to_what_is_only_possible() -> None:
    yields_to = {"GL401": frozenset({"GL402"})}
    symptom = finding("GL401", 5, 4, certainty="certain")
    cause = finding("GL402", 6, 4, certainty="possible")
    assert one_per_fault([symptom, cause], yields_to) == (symptom, cause)


def test_an_event_that_breaks_a_rule_for_cells_of_two_histories_is_one_fault() -> None:
    def both(page: Page, event: Event) -> Iterator[tuple[str, Breach]]:
        for name in ("a", "b"):
            yield "GL000", Breach(event.at, "broken", cells=frozenset({name}))

    book = Book(both)
    for _ in range(3):
        book.post(Batch(Place("train.py", 1)))
    (finding,) = book.findings
    assert (finding.count, finding.cells) == (3, frozenset({"a", "b"}))


def test_what_happens_at_a_place_is_counted_by_its_kind() -> None:
    book, here, there = Book(), Place("train.py", 1), Place("train.py", 2)
    for _ in range(5):
        book.post(Batch(here))
    for event in (EpochEnd(here), EpochEnd(there)):
        book.post(event)
    assert book.occurrences == {(here, Batch): 5, (here, EpochEnd): 1, (there, EpochEnd): 1}
    book.post(Batch(here))
    assert book.occurrences[here, Batch] == 6


def test_a_pass_that_is_told_in_pieces_is_one_pass() -> None:
    book, at = Book(), Place("train.py", 1)
    for _ in range(3):
        book.post(Backward(at, frozenset({"a"})))
        for name in ("b", "c"):
            book.post(Backward(at, frozenset({name}), continues=True))
    assert (book.tally.backwards, book.tally.entries) == (3, 9)
    assert book.occurrences == {(at, Backward): 3}


def test_what_dies_unspent_is_left_and_not_lost() -> None:
    book, other = Book(), frozenset({"other"})
    for event in (
        Own(at(1), "opt", W),
        Backward(at(2), W),
        Step(at(3), "opt"),
        Backward(at(4), W | other),
        Gone(at(5), W, frozenset({"opt"})),
    ):
        book.post(event)
    assert (book.tally.entries, book.tally.spent, book.tally.lost) == (5, 2, 0)
    assert [names for names, _ in book.page.groups] == [other]
    assert book.page.accounts == ()
