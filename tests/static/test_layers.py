from __future__ import annotations

import pytest

from gradledger.static.lowering.following import Walk
from gradledger.static.lowering.layers import Layer
from gradledger.static.lowering.state import State


class Ground:
    def __init__(self) -> None:
        self.begun = True


class Low(Ground, metaclass=Layer):
    def name(self) -> str:
        return "low"

    def lowest(self) -> str:
        return self.name()


class Middle(Low):
    def name(self) -> str:
        return "middle"


class Top(Middle, whole=True):
    pass


def test_the_whole_has_the_ancestors_that_it_is_written_with() -> None:
    assert Top.__mro__ == (Top, Middle, Low, Ground, object)
    assert Top().lowest() == "middle"
    assert Top().begun


def test_a_layer_can_be_asked_for_what_is_below_it() -> None:
    assert Middle.lowest is Low.lowest
    assert Middle.name is not Low.name
    with pytest.raises(AttributeError, match="Middle has no height"):
        Middle.height  # type: ignore[attr-defined]  # noqa: B018


def test_a_walk_is_made_of_all_its_layers() -> None:
    assert issubclass(Walk, State)
    assert Walk.__mro__[: len(Walk.layers)] == Walk.layers
    assert len(Walk.layers) > 20
