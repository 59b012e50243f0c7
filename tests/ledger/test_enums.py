from __future__ import annotations

import copy
import enum
import pickle
from collections.abc import Callable

import pytest

from gradledger.ledger.enums import Enum


class Ours(Enum):
    """What it is."""

    FIRST = (1, "one")
    SECOND = (2, "two")

    def __init__(self, number: int, word: str) -> None:
        self.number = number
        self.word = word

    @property
    def is_first(self) -> bool:
        return self is Ours.FIRST


class Theirs(enum.Enum):
    """What it is."""

    FIRST = (1, "one")
    SECOND = (2, "two")

    def __init__(self, number: int, word: str) -> None:
        self.number = number
        self.word = word

    @property
    def is_first(self) -> bool:
        return self is Theirs.FIRST


class Plain(Enum):
    YES = "yes"
    NO = "no"


def test_it_is_what_enum_would_have_made() -> None:
    assert len(Ours) == len(Theirs)
    for ours, theirs in zip(Ours, Theirs, strict=True):
        assert type(ours) is Ours
        for name in ("name", "value", "number", "word", "is_first"):
            assert getattr(ours, name) == getattr(theirs, name)
        for show in (str, repr):
            assert show(ours) == show(theirs).replace("Theirs", "Ours")


def test_a_member_is_found_by_its_value_and_by_its_name() -> None:
    assert Plain("no") is Plain["NO"] is Plain.NO
    assert Plain(Plain.YES) is Plain.YES
    with pytest.raises(ValueError, match="'maybe' is not a valid Plain"):
        Plain("maybe")
    with pytest.raises(KeyError):
        Plain["MAYBE"]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_there_is_one_of_each(copied: Callable[[Enum], Enum]) -> None:
    for member in (*Ours, *Plain):
        assert copied(member) is member
