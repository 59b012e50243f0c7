"""If our own code has a bug, the audit ends, and the program goes on."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from gradledger.errors import LawBroken

if TYPE_CHECKING:
    from gradledger.runtime.journal.journal import Journal

P = ParamSpec("P")
R = TypeVar("R")


class Watcher(Protocol):
    """What writes to a journal."""

    journal: Journal


W = TypeVar("W", bound=Watcher)


def unfailing(method: Callable[Concatenate[W, P], R]) -> Callable[Concatenate[W, P], R | None]:
    """A method of a watcher that gives None where it would raise, and ends the audit."""

    @wraps(method)
    def careful(watcher: W, /, *args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return method(watcher, *args, **kwargs)
        except Exception as error:
            survive(watcher.journal, error)
            return None

    return careful


def survive(journal: Journal, error: Exception) -> None:
    """What `unfailing` does about an error, for who is called so often that a guard costs."""
    if isinstance(error, LawBroken):
        raise error
    journal.fail(error)


def in_words(failure: Exception | None) -> str:
    """The bug, so that it can be reported; nothing, where there was none."""
    if failure is None:
        return ""
    last = traceback.extract_tb(failure.__traceback__)[-1:]
    where = "".join(f" at {os.path.basename(frame.filename)}:{frame.lineno}" for frame in last)
    return f"gradledger has a bug, {failure!r}{where}. Please report it"
