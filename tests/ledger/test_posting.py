"""What single events do to a page, where no finding would show it."""

from __future__ import annotations

import pytest

from gradledger.ledger import Page, Place, post
from gradledger.ledger.cells import Cell
from gradledger.ledger.events import (
    Backward,
    Clear,
    Edit,
    Event,
    Own,
    Step,
    Weight,
)


def at(line: int) -> Place:
    return Place("train.py", line)


W = frozenset({"weight"})


def cell_after(*events: Event) -> Cell:
    page = Page()
    for event in (Own(at(1), "opt", W), *events):
        page = post(event, page)
    ((names, cell),) = page.groups
    assert names == W
    return cell


def test_a_cell_is_none_until_a_deposit_and_after_a_clear() -> None:
    assert cell_after().is_none
    assert not cell_after(Backward(at(2), W)).is_none
    assert cell_after(Backward(at(2), W), Clear(at(3), W)).is_none


def test_clearing_to_zeros_leaves_zeros_where_there_was_a_gradient_and_none_where_not() -> None:
    zeros = Clear(at(3), W, to_none=False)
    assert cell_after(Backward(at(2), W), zeros).zeros
    assert cell_after(Backward(at(2), W), zeros, zeros).zeros
    assert cell_after(zeros).is_none


def test_an_empty_cell_knows_where_it_was_cleared_and_a_full_one_does_not() -> None:
    assert cell_after(Clear(at(3), W)).cleared_at == at(3)
    assert cell_after(Clear(at(3), W), Backward(at(2), W)).cleared_at is None
    assert cell_after(Clear(at(3), W), Edit(at(2), W, "assign")).cleared_at is None


def test_an_assigned_gradient_is_a_deposit_that_ends_what_was_there() -> None:
    cell = cell_after(Backward(at(2), W), Clear(at(3), W, to_none=False), Edit(at(4), W, "assign"))
    (holding,) = cell.holdings
    assert (holding.at, holding.deposit.by_hand, holding.count) == (at(4), True, 1)
    assert cell.deposited
    assert not cell.zeros


@pytest.mark.parametrize(
    ("divisor", "factor", "expected"),
    [(1, 0.25, 4), (4, 2.0, 2), ("n", 0.5, None), (1, 0.0, None), (1, None, None)],
)
def test_scaling_a_gradient_divides_its_deposits(
    divisor: float | str, factor: float | None, expected: float | None
) -> None:
    mean = Backward(at(2), W, Weight("mean", divisor))
    (holding,) = cell_after(mean, Edit(at(3), W, "scale", factor)).holdings
    assert holding.deposit.weight == Weight("mean", expected)


def test_a_spent_deposit_keeps_its_first_spend_and_forgets_what_no_longer_matters() -> None:
    weighed = Backward(at(2), W, Weight("mean", 4), local=True)
    (holding,) = cell_after(weighed, weighed, Step(at(3), "opt"), Step(at(4), "opt")).holdings
    assert (holding.count, holding.spent_at) == (2, at(3))
    assert holding.spent_by == {"opt"}
    assert holding.deposit.weight == Weight()
    assert not holding.local
