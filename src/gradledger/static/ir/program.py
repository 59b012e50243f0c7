"""The small language that source is lowered to: events in order, with choices, loops and exits."""

from __future__ import annotations

from gradledger.ledger.events import Event
from gradledger.ledger.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Literal

    Exit = Literal["break", "continue", "return", "raise", "exit"]
else:
    Exit = str


class Node(Value):
    """A piece of a program. What kinds of events are in it is worked out once."""

    __slots__ = ("_kinds",)

    @property
    def kinds(self) -> frozenset[type[Event]]:
        """The kinds of the events in it."""
        try:
            return self._kinds
        except AttributeError:
            kinds = self._own_kinds()
            object.__setattr__(self, "_kinds", kinds)
            return kinds

    if TYPE_CHECKING:
        _kinds: ClassVar[frozenset[type[Event]]]

    @property
    def inner(self) -> tuple[Program, ...]:
        """The pieces that it is made of, in the order of the text."""
        return ()

    def _own_kinds(self) -> frozenset[type[Event]]:
        return frozenset().union(*(piece.kinds for piece in self.inner))


class Do(Node):
    """One event happens."""

    event: Event

    def _own_kinds(self) -> frozenset[type[Event]]:
        return frozenset({type(self.event)})


class Sequence(Node):
    """One part after the other."""

    parts: tuple[Program, ...]

    @property
    def inner(self) -> tuple[Program, ...]:
        return self.parts


class Branch(Node):
    """One of two parts.

    Where `condition` is named, all branches on it go the same way along one path, until it changes:
    `if amp:` … `if amp:` has two paths, not four.
    """

    then: Program
    orelse: Program
    condition: str | None = None

    @property
    def inner(self) -> tuple[Program, ...]:
        return self.then, self.orelse


class Loop(Node):
    """The body, any number of times, but at least so many."""

    body: Program
    at_least: int = 0
    last: str | None = None
    """The condition that is true in the last round and in no other: `i + 1 == len(loader)`."""
    first: str | None = None
    """The condition that is true in the first round and in no other: `i == 0`."""
    ran_out: str | None = None
    """The condition that is true where the rounds came to their end, and no `break` to them."""
    anew: frozenset[str] = frozenset()
    """Conditions that each round asks anew: no round knows those of the one before."""

    @property
    def inner(self) -> tuple[Program, ...]:
        return (self.body,)


class Forget(Node):
    """The condition was assigned anew: what was known of it holds no longer."""

    condition: str


class Tick(Node):
    """A counter that closes windows moves on: which micro-batch of its window is this?

    `starts` holds for the first micro-batch of a window, `ends` for the last. Where neither is
    known, the counter has just begun, at a window's start.
    """

    starts: str
    ends: str
    long: bool = True
    """A window has three or more."""


class Leave(Node):
    """The rest of the loop's body, of the loop, of the call or of the `try` is left out."""

    by: Exit


class Call(Node):
    """The body of a function where it is called: `return` leaves it.

    Or what is done once in a loop's stead: `continue` or `break` leaves that.
    """

    body: Program
    left_by: Exit = "return"

    @property
    def inner(self) -> tuple[Program, ...]:
        return (self.body,)


class Try(Node):
    """A body that may break off anywhere, and what is done then.

    `fault` happens in between, where the body is one that can be torn.
    """

    body: Program
    handler: Program
    fault: Event | None = None

    @property
    def inner(self) -> tuple[Program, ...]:
        return self.body, self.handler


class Require(Node):
    """Only those paths go on on which one of these cells has ever had a deposit."""

    cells: frozenset[str]


Program = Do | Sequence | Branch | Loop | Forget | Tick | Leave | Call | Try | Require

NOTHING = Sequence(())
