"""One path through a program that shows what it does: loops go round, windows fill up.

A witness is the shortest path to a fault. A play goes on: it takes the same decisions, and goes
round often enough that a reader sees the whole cycle more than once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gradledger.ledger import Page
from gradledger.ledger.events import Backward, Event
from gradledger.ledger.tuples import NamedTuple
from gradledger.static import budget
from gradledger.static.ir.blocks import events_in, pieces
from gradledger.static.ir.condition_names import window_of
from gradledger.static.ir.program import Loop, Program, Tick
from gradledger.static.solve.paths import NO_FACTS
from gradledger.static.solve.small_steps import Decision, Frame, Machine, Move, rounds_around

Price = Callable[[Decision], int | None]


class Happening(NamedTuple):
    """An event, and which round of each loop around it this is, the outermost first."""

    event: Event
    rounds: tuple[tuple[Loop, int], ...]


class Walk:
    """Chooses at each fork. `wanted`: decisions that lead to a fault worth seeing."""

    def __init__(
        self, program: Program, *, wanted: frozenset[Decision], price: Price, leaves_over: bool
    ) -> None:
        self._machine = Machine(program)
        self._program = program
        self._wanted = wanted
        self._price = price
        self._leaves_over = leaves_over
        """The last window of an epoch is to be a short one."""
        self._rounds: dict[int, int] = {}
        self._in_window: dict[str, int] = {}

    def happenings(self) -> Iterator[Happening]:
        """The path, to the end of the program or until it is long enough."""
        at: Frame | None = self._machine.start
        facts, page = NO_FACTS, Page()
        told = moves_made = 0
        while (
            at is not None
            and told < budget.MOST_EVENTS_PLAYED
            and moves_made < budget.MOST_MOVES_PLAYED
        ):
            moves = list(self._machine.moves(at, page, facts))
            if not moves:
                return
            move = self._chosen(at, moves)
            moves_made += 1
            if move.enters is not None:
                self._rounds[id(move.enters)] = 0
            if move.begins is not None:
                self._rounds[id(move.begins)] = self._rounds.get(id(move.begins), 0) + 1
            if move.event is not None:
                around = rounds_around(at)
                numbered = tuple((loop, self._rounds.get(id(loop), 1)) for loop in around)
                yield Happening(move.event, numbered)
                told += 1
            at, facts = move.to, move.facts

    def _chosen(self, at: Frame, moves: list[Move]) -> Move:
        if isinstance(at.piece, Tick) and at.role == "run":
            return self._ticked(at.piece, moves)
        rounds = [move for move in moves if move.begins is not None]
        if rounds:
            return self._round(at, rounds, moves)
        happens = [move for move in moves if move.event is not None]
        return happens[0] if happens else min(moves, key=self._cost)

    def _cost(self, move: Move) -> tuple[int, int, int]:
        """What is wanted first, then what takes least for granted, then where most happens."""
        decision = move.decision
        if decision is None:
            return 0, 0, 0
        if decision in self._wanted and decision.kind != "raise":
            return -1, 0, 0
        price = self._price(decision)
        within = 0 if move.to is None else sum(1 for _ in events_in(move.to.piece))
        return 0, 1_000 if price is None else price, -within

    def _round(self, at: Frame, rounds: list[Move], moves: list[Move]) -> Move:
        loop = rounds[0].begins
        assert loop is not None
        made = 0 if rounds[0].enters is not None else self._rounds.get(id(loop), 0)
        most = max(self._rounds_of(loop), loop.at_least)
        out = [move for move in moves if move.begins is None]
        if made >= most and out and rounds[0].enters is None:
            return out[0]
        is_last = made + 1 >= most
        fitting = [m for m in rounds if loop.last is None or (loop.last, is_last) in m.facts]
        return (fitting or rounds)[0]

    def _rounds_of(self, loop: Loop) -> int:
        if any(isinstance(piece, Loop) and Backward in piece.kinds for piece in pieces(loop.body)):
            return budget.OUTER_ROUNDS_PLAYED
        sizes = [size_of(piece) for piece in pieces(loop.body) if isinstance(piece, Tick)]
        if not sizes:
            return budget.ROUNDS_PLAYED
        size = max(sizes)
        if self._leaves_over:
            return size + 1
        return 2 * size if size <= budget.LONGEST_PLAYED_TWICE else size

    def _ticked(self, tick: Tick, moves: list[Move]) -> Move:
        usual = [m for m in moves if m.decision is None or m.decision.answer] or moves
        place = self._in_window.get(tick.ends, 0) + 1
        if any((tick.starts, True) in move.facts for move in usual):
            place = 1
        self._in_window[tick.ends] = place
        ends = place >= size_of(tick)
        fitting = [move for move in usual if ((tick.ends, True) in move.facts) == ends]
        return (fitting or usual)[0]


def size_of(tick: Tick) -> int:
    """How many micro-batches a window has; a few, where only a name says so."""
    size = (window_of(tick.ends) or "").rpartition(" % ")[2]
    least = 3 if tick.long else 2
    return max(int(size), least) if size.isdecimal() else least
