"""The cheapest path through a program on which a rule is broken: what a reader can follow.

A best-first search. What a path takes for granted has a price, which the caller sets; among paths
of one price, the one with the fewest events comes first. Where the budget ends before a path is
found, there is none to show, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import count

from gradledger.ledger import Breach, Judge, Outcomes, Page
from gradledger.ledger.cells import SATURATING
from gradledger.ledger.events import Event
from gradledger.ledger.tuples import NamedTuple
from gradledger.static import budget
from gradledger.static.ir import condition_names
from gradledger.static.ir.blocks import pieces
from gradledger.static.ir.program import Loop, Program, Tick
from gradledger.static.solve.breaches import Fault
from gradledger.static.solve.paths import NO_FACTS
from gradledger.static.solve.small_steps import Decision, Frame, Machine, Move, rounds_around

UNSURE = 4
"""The price of a breach that a saturated count leaves open: one that is sure is better."""

Price = Callable[[Decision], int | None]
"""What a decision costs; None: paths that need it are left out."""

Filled = tuple[tuple[str, int], ...]
"""How many micro-batches there are so far in windows whose size is known."""

Rounds = tuple[tuple[Loop, int], ...]
"""The loops around an event, the outermost first, and which round of each it is."""


class Happening(NamedTuple):
    """An event on a path, the page that it met, and the rounds of the loops around it."""

    event: Event
    page: Page
    rounds: Rounds


class Trail(NamedTuple):
    """A path on which a rule is broken: by the last of its events."""

    happenings: tuple[Happening, ...]
    decisions: tuple[Decision, ...]
    """What it takes for granted, in the order in which that is met."""


class Search:
    """Looks for paths through one program. All searches together stay within the budget."""

    def __init__(
        self,
        program: Program,
        judge: Judge | Outcomes,
        *,
        stops: Callable[[str], bool] = lambda rule: False,
        budget: int = 10_000,
    ) -> None:
        self._machine = Machine(program)
        self.counts = any(counted_size(p) for p in pieces(program) if isinstance(p, Tick))
        self._outcomes = judge if isinstance(judge, Outcomes) else Outcomes(judge, counts=False)
        self._stops = stops
        self.budget = budget
        """How many steps may still be looked at."""
        self.exhausted = False
        """Whether the latest search has looked at every path: what it did not find is not there."""

    def counted(self, fault: Fault, price: Price) -> Trail | None:
        """The cheapest path, with as many micro-batches in a window as the source says.

        None where no window has a size that is counted, or no such path is found in time.
        """
        if not self.counts:
            return None
        return self._cheapest(fault, price, None, counts=True)

    def cheapest(self, fault: Fault, price: Price, *, most: int | None = None) -> Trail | None:
        """The path to this breach with the lowest price; None where none is found in time.

        `most` steps are looked at, or all that the budget has left.
        """
        return self._cheapest(fault, price, most)

    def _cheapest(
        self, fault: Fault, price: Price, most: int | None, *, counts: bool = False
    ) -> Trail | None:
        self.exhausted = False
        most = self.budget if most is None else min(most, self.budget)
        order = count()
        begin = _Node(None, self._machine.start, Page(counting=SATURATING), NO_FACTS)
        heap: list[tuple[int, int, int, _Node]] = [(0, 0, 0, begin)]
        seen = set()
        while heap:
            cost, events, _, node = heappop(heap)
            if node.is_breach:
                return _trail(node)
            if (
                node.at is None
                or (key := (node.at, id(node.page), node.facts, node.filled)) in seen
            ):
                continue
            seen.add(key)
            if most <= 0:
                return None
            most -= 1
            self.budget -= 1
            for before, move in self._choices(node):
                charge = 0 if move.decision is None else price(move.decision)
                filled = filled_by(move, before) if counts else before.filled
                if charge is None or filled is None:
                    continue
                happens = move.event is not None
                for extra, after in self._after(before, move, fault):
                    after.filled = filled
                    entry = cost + charge + extra, events + happens, next(order), after
                    heappush(heap, entry)
        self.exhausted = True
        return None

    def _choices(self, node: _Node) -> list[tuple[_Node, Move]]:
        """The next steps that are one of several, or at which something happens."""
        while node.at is not None:
            moves = self._machine.moves(node.at, node.page, node.facts)
            ticks = isinstance(node.at.piece, Tick)
            if ticks or len(moves) != 1 or moves[0].event is not None or moves[0].decision:
                return [(node, move) for move in moves]
            filled = node.filled
            node = _Node(node, moves[0].to, node.page, moves[0].facts, moves[0])
            node.filled = filled
        return []

    def _after(self, node: _Node, move: Move, fault: Fault) -> Iterator[tuple[int, _Node]]:
        if move.event is None:
            yield 0, _Node(node, move.to, node.page, move.facts, move)
            return
        page, breaches, _ = self._outcomes.of(node.page, move.event)
        broken = [breach for rule, breach in breaches if (rule, breach.at) == fault]
        if broken:
            price = 0 if any(breach.sure for breach in broken) else UNSURE
            yield price, _Node(node, None, page, move.facts, move, is_breach=True)
        if not any(breach.sure and self._stops(rule) for rule, breach in breaches):
            yield 0, _Node(node, move.to, page, move.facts, move)


class _Node:
    """One way to have come to a point of the program."""

    __slots__ = ("at", "before", "by", "facts", "filled", "is_breach", "page")

    def __init__(
        self,
        before: _Node | None,
        at: Frame | None,
        page: Page,
        facts: frozenset[tuple[str, bool]],
        by: Move | None = None,
        *,
        is_breach: bool = False,
    ) -> None:
        self.before = before
        self.at = at
        self.page = page
        self.facts = facts
        self.by = by
        """The step that led here."""
        self.is_breach = is_breach
        self.filled: Filled = ()
        """How many micro-batches each window has that is counted."""


def filled_by(move: Move, node: _Node) -> Filled | None:
    """How full the windows are behind a move; None where it ends one too early, or too late."""
    tick = node.at.piece if node.at is not None and node.at.role == "run" else None
    size = counted_size(tick) if isinstance(tick, Tick) else 0
    if not size:
        return node.filled
    assert isinstance(tick, Tick)
    before = dict(node.filled)
    place = 1 if (tick.starts, True) in move.facts else before.get(tick.ends, 0) + 1
    if ((tick.ends, True) in move.facts) is not (place == size):
        return None
    return tuple(sorted({**before, tick.ends: place}.items()))


def counted_size(tick: Tick) -> int:
    """How many micro-batches a window has, where that is a small number in the source; else 0."""
    size = (condition_names.window_of(tick.ends) or "").rpartition(" % ")[2]
    number = int(size) if size.isdecimal() else 0
    return number if 2 < number <= budget.LARGEST_WINDOW_COUNTED else 0


def exactly(trail: Trail, judge: Outcomes, fault: Fault) -> Breach | None:
    """What the rule says at the end of the path, if all that happens on it is counted."""
    page = Page()
    breaches: tuple[tuple[str, Breach], ...] = ()
    for happening in trail.happenings:
        page, breaches, _ = judge.of(page, happening.event)
    return next((breach for rule, breach in breaches if (rule, breach.at) == fault), None)


def _trail(node: _Node) -> Trail:
    """The way to a node, told from its beginning."""
    way: list[_Node] = []
    while node.before is not None:
        way.append(node)
        node = node.before
    happenings: list[Happening] = []
    decisions: dict[Decision, None] = {}
    rounds: dict[int, int] = {}
    for node in reversed(way):
        move, before = node.by, node.before
        assert move is not None
        assert before is not None
        if move.enters is not None:
            rounds[id(move.enters)] = 0
        if move.begins is not None:
            rounds[id(move.begins)] += 1
        if move.decision is not None:
            decisions[move.decision] = None
        if move.event is not None:
            around = rounds_around(before.at)
            numbered = tuple((loop, rounds[id(loop)]) for loop in around)
            happenings.append(Happening(move.event, before.page, numbered))
    return Trail(tuple(happenings), tuple(decisions))
