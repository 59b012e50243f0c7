from __future__ import annotations

import gc
import sys
import weakref
from types import FrameType
from typing import Any

from gradledger.runtime.variables import variables


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
