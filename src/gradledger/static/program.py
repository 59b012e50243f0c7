"""The small language that source is lowered to: events in order, with choices and loops."""

from __future__ import annotations

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
    """The body, any number of times."""

    body: Program


class Forget(Value):
    """The condition was assigned anew: what was known of it holds no longer."""

    condition: str


Program = Do | Sequence | Branch | Loop | Forget

NOTHING = Sequence(())
