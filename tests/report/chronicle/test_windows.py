"""A chronicle window by window: what each step used, and how much each deposit weighed."""

from __future__ import annotations

from hypothesis import given

from gradledger.ledger import Place
from gradledger.ledger.events import Backward, Clear, Event, Skipped, Step, Weight
from gradledger.report.chronicle import Used, weighed, windows
from tests.examples import examples
from tests.report.chronicle.recorded import chronicle_of
from tests.strategies import OPENING, OWNED, event_lists

G, D = OWNED["G"], OWNED["D"]


def at(line: int) -> Place:
    return Place("train.py", line)


def items(n: int) -> Weight:
    return Weight("mean", 1, n)


@examples(60)
@given(event_lists)
def test_there_is_a_window_for_each_step_and_each_skipped_one(events: list[Event]) -> None:
    chronicle = chronicle_of([*OPENING, *events])
    found = list(windows(chronicle))
    tally = chronicle.verdict.tally
    assert sum(not window.skipped for window in found) == tally.steps
    assert sum(window.skipped for window in found) == tally.skipped_steps
    assert all(window.opened <= window.turn < len(chronicle.turns) for window in found)
    assert [window.ns for window in found] == sorted(window.ns for window in found)


def test_each_new_deposit_has_its_own_weight() -> None:
    chronicle = chronicle_of(
        [
            *OPENING,
            *(Backward(at(10), G, items(n)) for n in (7, 8, 9)),
            Step(at(11), "G"),
            Clear(at(12), G),
            *(Backward(at(10), G, items(n)) for n in (7, 4)),
            Step(at(11), "G"),
        ]
    )
    first, second = windows(chronicle)
    assert [[chronicle.weights[w].items for w in used.weights] for used in first.used] == [
        [7, 8, 9]
    ]
    assert [[chronicle.weights[w].items for w in used.weights] for used in second.used] == [[7, 4]]
    assert (first.deposits, second.deposits) == (3, 2)
    assert (first.number, second.number) == (1, 2)


def test_weights_of_another_nets_deposits_at_the_same_line_are_not_taken_for_ones_own() -> None:
    chronicle = chronicle_of(
        [*OPENING, Backward(at(10), G, items(1)), Backward(at(10), D, items(2)), Step(at(11), "G")]
    )
    (window,) = windows(chronicle)
    assert [chronicle.weights[w].items for w in window.used[0].weights] == [1]


def test_what_was_spent_before_is_told_apart() -> None:
    loop: list[Event] = [Backward(at(10), G), Step(at(11), "G")]
    *_, last = windows(chronicle_of([*OPENING, *loop, *loop, *loop]))
    assert last.used == (Used(0, False, 1, 2, (0,)), Used(0, True, 2, 2))
    assert last.deposits == 1


def test_a_skipped_step_used_nothing() -> None:
    (window,) = windows(chronicle_of([*OPENING, Backward(at(10), G), Skipped(at(11), "G")]))
    assert window.skipped
    assert window.used == ()


def test_weights_are_put_in_words() -> None:
    assert weighed(Weight()) == ""
    assert weighed(Weight("mean", 1, 32)) == "mean of 32 items"
    assert weighed(Weight("mean", 4.0, 1)) == "mean of 1 item, divided by 4"
    assert weighed(Weight("sum", "n")) == "sum, divided by n"
    assert weighed(Weight("mean", items_vary=True)) == "mean of a number of items that varies"
    assert weighed(Weight(items=1024, framework_divides=True, divisor=2)) == (
        "1,024 items, divided by the framework"
    )
