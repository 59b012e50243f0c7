from __future__ import annotations

import gc
import sys
import weakref
from types import FrameType
from typing import Any

from gradledger.runtime.program.variables import spelled, variables


class Thing:
    """Something that can be seen to go."""


def here() -> FrameType:
    return sys._getframe(1)


def test_a_function_s_variables_are_read_by_name() -> None:
    thing = Thing()
    assert variables(here())["thing"] is thing
    assert variables(here())["thing"] is thing  # and again


def reads_and_deletes() -> object:
    # No assert in here: pytest makes of it a function that asks for `locals`.
    thing = Thing()
    gone = weakref.ref(thing)
    variables(here())
    del thing
    gc.collect()
    return gone()


def test_what_was_read_is_not_kept_alive() -> None:
    assert reads_and_deletes() is None


def test_the_variables_stay_what_they_are() -> None:
    first, second = 1, [2]

    def inner() -> int:
        return first + second[0]

    variables(here())
    assert (first, second, inner()) == (1, [2], 3)


def test_what_a_function_got_from_locals_stays_whole() -> None:
    first = 1
    kept = locals()
    variables(here())
    assert kept["first"] == first


def test_a_module_s_variables_stay_whole() -> None:
    names: dict[str, object] = {"variables": variables, "sys": sys}
    exec("thing = 3\nseen = variables(sys._getframe())['thing']", names)
    assert (names["thing"], names["seen"]) == (3, 3)


def test_a_traced_frame_keeps_its_variables() -> None:
    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            variables(frame)
        return trace

    def traced() -> int:
        total = 1
        total += 1
        return total

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert traced() == 2
    finally:
        sys.settrace(before)


class Round:
    """What a framework puts round an optimizer."""

    def __init__(self, optimizer: object) -> None:
        self._optimizer = optimizer

    def step(self) -> None: ...
    def zero_grad(self) -> None: ...


class Trainer:
    """Something that has an optimizer and is none."""

    def __init__(self, optimizer: object) -> None:
        self.optimizer = optimizer

    def step(self) -> None: ...


def spell(wanted: object, **variables: object) -> str:
    names: dict[str, object] = {"here": here, **variables}
    exec("frame = here()", names)
    frame = names.pop("frame")
    assert isinstance(frame, FrameType)
    return spelled(wanted, [frame])


def test_it_is_called_by_the_variable_or_the_attribute_that_holds_it() -> None:
    thing = Thing()
    assert spell(thing, opt=thing) == "opt"
    assert spell(thing, trainer=Trainer(thing)) == "trainer.optimizer"
    assert spell(thing, other=Thing()) == ""


def test_an_optimizer_in_another_is_called_what_that_one_is() -> None:
    thing = Thing()
    assert spell(thing, opt_g=Round(thing)) == "opt_g"
