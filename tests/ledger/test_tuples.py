from __future__ import annotations

import pickle
import typing

import pytest

from gradledger.ledger.tuples import NamedTuple


class Ours(NamedTuple):
    """What it is."""

    first: int
    second: str = "two"

    @property
    def both(self) -> str:
        return f"{self.first} {self.second}"


class Theirs(typing.NamedTuple):
    """What it is."""

    first: int
    second: str = "two"

    @property
    def both(self) -> str:
        return f"{self.first} {self.second}"


def test_it_is_what_typing_would_have_made() -> None:
    ours, theirs = Ours(1), Theirs(1)
    assert tuple(ours) == tuple(theirs)
    assert ours.both == theirs.both
    assert repr(ours) == repr(theirs).replace("Theirs", "Ours")
    assert ours._replace(second="2") == Ours(1, "2")
    assert ours._asdict() == theirs._asdict()
    for name in ("__doc__", "__module__", "_fields", "_field_defaults", "__match_args__"):
        assert getattr(Ours, name) == getattr(Theirs, name)


def test_it_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Ours(1))) == Ours(1)


def test_it_takes_each_field_once() -> None:
    with pytest.raises(TypeError, match="first"):
        Ours()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="second"):
        Ours(1, "2", second="2")  # type: ignore[misc]
    with pytest.raises(TypeError, match="third"):
        Ours(1, third="3")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="too many"):
        Ours(1, "2", "3")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="third"):
        Ours(1)._replace(third="3")  # type: ignore[call-arg]


def test_it_has_no_room_for_more() -> None:
    with pytest.raises(AttributeError):
        Ours(1).third = "3"  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        Ours(1).first = 2  # type: ignore[misc]
