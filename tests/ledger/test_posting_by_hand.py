"""Gradients that code changes by hand: what is written over zeros, and units nobody knows."""

from __future__ import annotations

from gradledger.ledger import Book, Place
from gradledger.ledger.events import Backward, Clear, Edit, Own, Step
from gradledger.rules import YIELDS_TO, judge

CELLS = frozenset({"weight"})
AT = Place("train.py", 1)


def found(*events: Backward | Clear | Edit | Step) -> list[str]:
    book = Book(judge, yields_to=YIELDS_TO)
    book.post(Own(AT, "optimizer", CELLS))
    for event in events:
        book.post(event)
    return [finding.rule for finding in book.findings]


def test_what_is_written_over_zeros_is_a_deposit() -> None:
    backward, zeros = Backward(AT, CELLS), Clear(AT, CELLS, to_none=False)
    spent = Step(AT, "optimizer")
    assert found(backward, spent, zeros, Edit(AT, CELLS, "change"), spent) == []
    assert found(backward, spent, zeros, Edit(AT, CELLS, "scale", 0.5), spent) == ["GL202"]
    assert found(backward, spent, zeros, spent) == ["GL202"]


def test_who_multiplies_scaled_gradients_by_hand_may_unscale_them() -> None:
    scaled, spent = Backward(AT, CELLS, scaler="scaler"), Step(AT, "optimizer")
    assert found(scaled, spent) == ["GL402"]
    for factor in (None, 1 / 65536):
        assert found(scaled, Edit(AT, CELLS, "scale", factor), spent) == []


def test_a_window_in_which_one_deposit_was_edited_has_no_unit_to_break() -> None:
    scaled, edit = Backward(AT, CELLS, scaler="scaler"), Edit(AT, CELLS, "change")
    assert found(scaled, edit, scaled, Step(AT, "optimizer", scaler="scaler")) == []
