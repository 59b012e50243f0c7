"""The small language that source is lowered to: events in order, with choices, loops and exits."""

from __future__ import annotations

from typing import Literal

from gradledger.ledger.events import Event
from gradledger.ledger.values import Value


class Do(Value):
    """One event happens."""

    event: Event


class Sequence(Value):
    """One part after the other."""

    parts: tuple[Program, ...]


class Branch(Value):
    """One of two parts.

    Where `condition` is named, all branches on it go the same way along one path, until it changes:
    `if amp:` … `if amp:` has two paths, not four.
    """

    then: Program
    orelse: Program
    condition: str | None = None


class Loop(Value):
    """The body, any number of times, but at least so many."""

    body: Program
    at_least: int = 0
    last: str | None = None
    """The condition that is true in the last round and in no other: `i + 1 == len(loader)`."""
    anew: frozenset[str] = frozenset()
    """Conditions that each round asks anew: no round knows those of the one before."""


class Forget(Value):
    """The condition was assigned anew: what was known of it holds no longer."""

    condition: str


class Tick(Value):
    """A counter that closes windows moves on: which micro-batch of its window is this?

    `starts` holds for the first micro-batch of a window, `ends` for the last. Where neither is known, the counter has just begun, at a window's start.
    """

    starts: str
    ends: str
    long: bool = True
    """A window has three or more."""


Exit = Literal["break", "continue", "return", "raise"]


class Leave(Value):
    """The rest of the loop's body, of the loop, of the call or of the `try` is left out."""

    by: Exit


class Call(Value):
    """The body of a function where it is called: `return` leaves it."""

    body: Program


class Try(Value):
    """A body that may break off anywhere, and what is done then.

    `fault` happens in between, where the body is one that can be torn.
    """

    body: Program
    handler: Program
    fault: Event | None = None


class Require(Value):
    """Only those paths go on on which one of these cells has ever had a deposit."""

    cells: frozenset[str]


Program = Do | Sequence | Branch | Loop | Forget | Tick | Leave | Call | Try | Require

NOTHING = Sequence(())
