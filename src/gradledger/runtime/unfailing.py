"""A bug of ours is never the program's trouble: the audit ends, and the program goes on."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from gradledger.errors import LawBroken

if TYPE_CHECKING:
    from gradledger.runtime.journal import Journal

P = ParamSpec("P")
R = TypeVar("R")


class Watcher(Protocol):
    """Somebody who writes to a journal."""

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
