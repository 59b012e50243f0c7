"""A program of events one step at a time: what can happen next, and what that takes for granted.

The interpreter carries all paths at once. Here a single path is followed, as a witness needs it.
The rules of the language are the same: a condition keeps its answer along a path, a loop's first
round is known from the later ones, and inside a `try` an exception may come before any event.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Page
from gradledger.ledger.events import Event
from gradledger.ledger.tuples import NamedTuple
from gradledger.static.ir import condition_names
from gradledger.static.ir.answers import exclude
from gradledger.static.ir.program import (
    Branch,
    Call,
    Do,
    Exit,
    Forget,
    Leave,
    Loop,
    Program,
    Require,
    Sequence,
    Tick,
    Try,
)
from gradledger.static.solve.paths import Facts, ticked

LATER = 3
"""The third round of a loop is like all that follow it."""


class Frame:
    """What is left to do: this, and then what comes next. Equal ones are one object."""

    __slots__ = ("next", "number", "piece", "role")

    def __init__(self, role: str, piece: Program, number: int, following: Frame | None) -> None:
        self.role = role
        """`run` the piece; or the end of a `round`, a `call` or a `try`; or its `fault`."""
        self.piece = piece
        self.number = number
        """Which part of a sequence, or which round of a loop."""
        self.next = following


class Decision(NamedTuple):
    """What a path takes for granted where the program leaves it open."""

    kind: str
    """`condition`, `branch`, `window`, `no rounds`, `raise` or `require`."""
    subject: object
    """The condition or window by name; else the piece of the program."""
    answer: bool = True


class Move(NamedTuple):
    """One step: where it leads, and what happens on the way."""

    to: Frame | None
    facts: Facts
    event: Event | None = None
    decision: Decision | None = None
    begins: Loop | None = None
    """The loop of which a round begins."""
    enters: Loop | None = None


class Machine:
    """The steps of one program."""

    def __init__(self, program: Program) -> None:
        self._frames: dict[tuple[str, int, int, int], Frame] = {}
        self._moves: dict[tuple[Frame, Facts], tuple[Move, ...]] = {}
        self.start = self._frame("run", program, 0, None)

    def moves(self, at: Frame, page: Page, facts: Facts) -> tuple[Move, ...]:
        """All that can happen next. An event is named, and not yet posted."""
        if isinstance(at.piece, Require):  # which alone depends on the page
            return tuple(self._next(at, page, facts))
        # Every search for another breach, and every other page, comes by the same points.
        known = self._moves.get((at, facts))
        if known is None:
            known = self._moves[at, facts] = tuple(self._next(at, page, facts))
        return known

    def _next(self, at: Frame, page: Page, facts: Facts) -> Iterator[Move]:
        piece, following = at.piece, at.next
        if at.role == "round":
            assert isinstance(piece, Loop)
            yield from self._end_of_round(piece, at, facts)
            return
        if at.role == "try":
            yield Move(following, facts)
            yield self._raised(at, facts)
            return
        if at.role == "call":
            yield Move(following, facts)
            return
        if at.role == "fault":
            assert isinstance(piece, Try)
            assert piece.fault is not None
            yield from self._happens(at, piece.fault, facts)
            return
        match piece:
            case Do(event):
                yield from self._happens(at, event, facts)
            case Sequence(parts):
                if at.number < len(parts):
                    rest = self._frame("run", piece, at.number + 1, following)
                    yield Move(self._frame("run", parts[at.number], 0, rest), facts)
                else:
                    yield Move(following, facts)
            case Branch():
                yield from self._branch(piece, following, facts)
            case Loop():
                yield from self._enter(piece, following, facts)
            case Forget(condition):
                yield Move(following, _without(facts, condition))
            case Tick():
                yield from self._tick(piece, following, facts)
            case Leave(by):
                yield from self._leave(at, by, facts)
            case Call(body):
                yield Move(
                    self._frame("run", body, 0, self._frame("call", piece, 0, following)), facts
                )
            case Try(body):
                yield Move(
                    self._frame("run", body, 0, self._frame("try", piece, 0, following)), facts
                )
            case Require(cells):
                met = any(cell.deposited for _, cell in page.among(cells))
                yield Move(following, facts, None, None if met else Decision("require", piece))

    def _frame(self, role: str, piece: Program, number: int, following: Frame | None) -> Frame:
        key = role, id(piece), number, id(following)
        known = self._frames.get(key)
        if known is None:
            known = self._frames[key] = Frame(role, piece, number, following)
        return known

    def _happens(self, at: Frame, event: Event, facts: Facts) -> Iterator[Move]:
        yield Move(at.next, facts, event)
        if (inside := _innermost(at.next, "try")) is not None:
            yield self._raised(inside, facts)

    def _branch(self, branch: Branch, following: Frame | None, facts: Facts) -> Iterator[Move]:
        for answer, side in ((True, branch.then), (False, branch.orelse)):
            to = self._frame("run", side, 0, following)
            if branch.condition is None:
                yield Move(to, facts, None, Decision("branch", branch, answer))
            else:
                yield from _answered(to, facts, branch.condition, answer)

    def _tick(self, tick: Tick, following: Frame | None, facts: Facts) -> Iterator[Move]:
        size = window_size(tick)
        for large in (True, False) if size else (True,):
            fact = f"{size} Eq 1", not large
            if size and any(exclude(known, fact) for known in facts):
                continue
            decision = Decision("window", size, large) if size and fact not in facts else None
            known = facts | {fact} if size else facts
            if large:
                for _, then in ticked((_NO_PAGE, known), tick):
                    yield Move(following, then, None, decision)
            else:
                known = _without(_without(known, tick.starts), tick.ends)
                known |= {(tick.starts, True), (tick.ends, True)}
                yield Move(following, known, None, decision)

    def _enter(self, loop: Loop, following: Frame | None, facts: Facts) -> Iterator[Move]:
        for condition in (loop.last, loop.first):
            facts = facts if condition is None else _without(facts, condition)
        yield from self._round(loop, 1, following, facts, enters=loop)
        if loop.at_least == 0:
            left = self._left(loop, facts, ran_out=False)
            yield Move(following, left, None, Decision("no rounds", loop))

    def _round(
        self,
        loop: Loop,
        number: int,
        following: Frame | None,
        facts: Facts,
        *,
        enters: Loop | None = None,
    ) -> Iterator[Move]:
        end = self._frame("round", loop, min(number, LATER), following)
        body = self._frame("run", loop.body, 0, end)
        if loop.first is not None:
            facts = _without(facts, loop.first) | {(loop.first, number == 1)}
        if loop.last is None:
            yield Move(body, facts, begins=loop, enters=enters)
            return
        facts = _without(facts, loop.last)
        for last in (False, True):
            yield Move(body, facts | {(loop.last, last)}, begins=loop, enters=enters)

    def _end_of_round(self, loop: Loop, at: Frame, facts: Facts) -> Iterator[Move]:
        for condition in loop.anew:
            facts = _without(facts, condition)
        if loop.last is None or (loop.last, True) not in facts:
            yield from self._round(loop, at.number + 1, at.next, facts)
        goes_on = loop.last is not None and (loop.last, False) in facts
        if not goes_on and at.number >= min(loop.at_least, 2):
            yield Move(at.next, self._left(loop, facts, ran_out=True))

    def _left(self, loop: Loop, facts: Facts, *, ran_out: bool) -> Facts:
        if loop.ran_out is not None:
            facts = _without(facts, loop.ran_out) | {(loop.ran_out, ran_out)}
        for condition in {*loop.anew, loop.last, loop.first}:
            facts = facts if condition is None else _without(facts, condition)
        return facts

    def _leave(self, at: Frame, by: Exit, facts: Facts) -> Iterator[Move]:
        frame = at.next
        while frame is not None:
            piece = frame.piece
            if isinstance(piece, Loop) and frame.role == "round":
                if by == "continue":
                    yield Move(frame, facts)
                    return
                if by == "break":
                    yield Move(frame.next, self._left(piece, facts, ran_out=False))
                    return
            elif isinstance(piece, Call) and frame.role == "call" and piece.left_by == by:
                yield Move(frame.next, facts)
                return
            elif frame.role == "try" and by == "raise":
                yield self._raised(frame, facts)._replace(decision=None)
                return
            frame = frame.next

    def _raised(self, inside: Frame, facts: Facts) -> Move:
        program = inside.piece
        assert isinstance(program, Try)
        handler = self._frame("run", program.handler, 0, inside.next)
        if program.fault is not None:
            handler = self._frame("fault", program, 0, handler)
        return Move(handler, facts, None, Decision("raise", program))


def window_size(tick: Tick) -> str:
    """What the code calls the size of its windows, by its full name; empty where that is a number.

    A number of micro-batches that stands in the code is what it is.
    """
    window = condition_names.window_of(tick.ends)
    size = "" if window is None else window.rpartition(" % ")[2]
    return "" if size[:1].isdecimal() else size


def rounds_around(frame: Frame | None) -> tuple[Loop, ...]:
    """The loops that the path is inside of, the outermost first."""
    found: list[Loop] = []
    while frame is not None:
        if frame.role == "round" and isinstance(frame.piece, Loop):
            found.append(frame.piece)
        frame = frame.next
    return tuple(reversed(found))


_NO_PAGE = Page()


def _innermost(frame: Frame | None, role: str) -> Frame | None:
    while frame is not None and frame.role != role:
        frame = frame.next
    return frame


def _without(facts: Facts, condition: str) -> Facts:
    return facts - {(condition, True), (condition, False)}


def _answered(to: Frame, facts: Facts, condition: str, answer: bool) -> Iterator[Move]:
    known = condition, answer
    if known in facts:
        yield Move(to, facts)
    elif not any(exclude(fact, known) for fact in facts):
        yield Move(to, facts | {known}, None, Decision("condition", condition, answer))
