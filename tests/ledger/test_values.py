"""Values behave like frozen dataclasses, and remember their hash."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest

from gradledger.ledger import Place
from gradledger.ledger.events import Backward, Clear, Event, Step
from gradledger.ledger.values import Value, replace

AT = Place("train.py", 3)
CELLS = frozenset({"weight"})


def test_fields_come_from_annotations_the_parents_first() -> None:
    assert Event.fields == ("at",)
    assert Clear.fields == ("at", "cells", "to_none")
    assert Clear(AT, CELLS) == Clear(cells=CELLS, at=AT, to_none=True)


def test_other_kinds_with_the_same_contents_are_not_equal() -> None:
    class Other(Value):
        at: Place
        cells: frozenset[str]
        to_none: bool = True

    assert Clear(AT, CELLS) != Other(AT, CELLS)
    assert Clear(AT, CELLS) != (AT, CELLS, True)


def test_equal_values_have_equal_hashes_however_they_were_made() -> None:
    made = replace(Backward(AT, CELLS, partial=True), partial=False)
    assert made == Backward(AT, CELLS)
    assert hash(made) == hash(Backward(AT, CELLS))


def test_a_changed_copy_does_not_keep_the_hash() -> None:
    before = Clear(AT, CELLS)
    hash(before)
    after = replace(before, to_none=False)
    assert hash(after) == hash(Clear(AT, CELLS, to_none=False))
    assert before.to_none is True


def test_a_value_can_not_be_changed() -> None:
    with pytest.raises(AttributeError, match="frozen"):
        AT.line = 4  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        del AT.line


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Clear(AT),  # type: ignore[call-arg]
        lambda: Clear(AT, CELLS, True, True),  # type: ignore[call-arg]
        lambda: Clear(AT, CELLS, at=AT),  # type: ignore[misc]
        lambda: Clear(AT, CELLS, to_zeros=True),  # type: ignore[call-arg]
        lambda: replace(Clear(AT, CELLS), to_zeros=True),
    ],
    ids=["missing", "too many", "twice", "unknown", "unknown in replace"],
)
def test_wrong_fields_are_refused_by_name(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(TypeError, match="Clear"):
        wrong()


def test_patterns_match_by_position_and_by_name() -> None:
    match Step(AT, "opt"):
        case Step(at, name, scaler=None):
            assert (at, name) == (AT, "opt")
        case _:
            pytest.fail("the pattern did not match")


def test_copies_and_pickles_are_equal() -> None:
    value = Backward(AT, CELLS, walks=frozenset({AT}))
    hash(value)
    assert copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(value)) == value


def test_a_pickle_does_not_carry_a_hash_that_is_wrong_in_another_process() -> None:
    hash(AT)
    program = (
        "import pickle, sys; from gradledger.ledger import Place\n"
        "place = pickle.loads(sys.stdin.buffer.read())\n"
        "print(place in {Place('train.py', 3)})"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        input=pickle.dumps(AT),
        capture_output=True,
        check=True,
        env={"PYTHONHASHSEED": "7"},
    )
    assert result.stdout.strip() == b"True"


def test_a_value_shows_what_it_holds() -> None:
    assert repr(AT) == "Place(path='train.py', line=3, column=0, via=None)"
    assert str(AT) == "train.py:3"
