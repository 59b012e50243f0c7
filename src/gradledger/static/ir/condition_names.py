"""The names of conditions that tell where in a loop, or in a window, this is.

The sign in front of them stands in no Python expression, so that no condition of the code itself
is ever taken for one of these.
"""

from __future__ import annotations

SIGN = "\u27f3 "


def of_rounds(condition: str) -> bool:
    """Is it one of these?"""
    return condition.startswith(SIGN)


def own_window(loop: str, size: str) -> str:
    """Windows that the rounds of this loop make up: they begin anew with it."""
    return f"{SIGN}rounds of {loop} % {size}"


def running_window(counter: str, size: str) -> str:
    """Windows of a counter that runs on, whatever loop it is in."""
    return f"{SIGN}running {counter} % {size}"


def is_own(window: str) -> bool:
    """Does the window begin anew with its loop?"""
    return window.startswith(f"{SIGN}rounds of")


def size_of(window: str) -> str:
    """What the code calls the size of its windows, without what it is an attribute or item of."""
    size = window.replace(":", ".").rpartition(".")[2].rpartition(" ")[2]
    return size[:-2].rpartition(size[-2])[2] if size.endswith(("']", '"]')) else size


def starts(window: str) -> str:
    """This is the first micro-batch of its window."""
    return f"{window} starts"


def ends(window: str) -> str:
    """This is the last micro-batch of its window."""
    return f"{window} ends"


def window_of(condition: str) -> str | None:
    """The window whose first or last micro-batch this is; None where it is about something else."""
    window, _, place = condition.rpartition(" ")
    return window if of_rounds(condition) and place in ("starts", "ends") else None


def first_round(loop: str) -> str:
    """This is the first round."""
    return f"{SIGN}first round of {loop}"


def last_round(loop: str) -> str:
    """This is the last round."""
    return f"{SIGN}last round of {loop}"


def ran_out(loop: str) -> str:
    """The rounds came to their end, and no `break` to them."""
    return f"{SIGN}end of {loop}"
