"""What an effect comes to, once it is known whose cells are meant.

Where a backward or a clear only may mean a cell, both ways are followed, the same one in every
round.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.events import (
    BY_HAND,
    NO_CELLS,
    Backward,
    CellNames,
    Clear,
    Clip,
    Declare,
    Edit,
    Event,
    Gone,
    Keep,
    Own,
    Read,
    Replace,
    Schedule,
    Step,
    Sync,
    Traits,
    Unscale,
)
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static import budget
from gradledger.static.bind.ownership import Ownership
from gradledger.static.domain.values import Places
from gradledger.static.ir.blocks import events_in, sequence
from gradledger.static.ir.dependence import primers, thrown_away
from gradledger.static.ir.effects import (
    Clears,
    Clips,
    Deposits,
    Edits,
    Excuses,
    HandsOver,
    Reads,
    Renews,
    Replaces,
    Resumes,
    Spends,
    TakesOver,
    Unscales,
)
from gradledger.static.ir.keys import within
from gradledger.static.ir.program import NOTHING, Branch, Do, Loop, Program, Require

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class TooManyOwners(Exception):
    """There are more optimizers with unknown parameters than can be followed."""


class Settling:
    """Turns the effects of one program into events."""

    def __init__(self, program: Program, ownership: Ownership, only_shown: Places) -> None:
        self._own = ownership
        self._only_shown = only_shown
        """Sums whose graphs nothing will ever walk."""
        self._last_walks = frozenset(last_walks(program))
        """Backwards after which nothing walks the same graph again."""
        self._thrown_away = thrown_away(program)
        """Clears by which code drops what it has just computed, and means to."""
        self._primers = primers(program)
        self._replaced = frozenset(
            key for e in events_in(program) if isinstance(e, Replaces) for key in e.keys
        )

    def settled(self, event: Event) -> Program:
        """What happens to the cells; an event that is none of an effect happens as it is."""
        settle: Callable[[Any, Any], Program] | None = _SETTLE.get(type(event))
        return Do(event) if settle is None else settle(self, event)

    def _deposit(self, event: Deposits) -> Program:
        sure, maybe = self._own.reached(event.keys, event.maybe)
        frozen = self._own.frozen(event.frozen)
        sure, maybe = sure - frozen, maybe - frozen
        if event.half_frozen:
            doubtful = sure & self._own.frozen(event.half_frozen)
            sure, maybe = sure - doubtful, maybe | doubtful
        if len(maybe) > budget.MOST_GUESSES:
            raise TooManyOwners
        return self._guessed(event, sure, sorted(maybe), sure)

    def _guessed(
        self, event: Deposits, sure: CellNames, maybe: list[str], averaged: CellNames
    ) -> Program:
        if not maybe:
            if not sure and not event.weight.framework_divides:
                return NOTHING
            if sure != averaged:
                # Whether ranks average what is only guessed to be reached is one guess too many.
                event = replace(event, local=None)
            backward = Backward(
                event.at,
                sure,
                event.weight,
                event.scaler,
                local=event.local is not None,
                retain_graph=event.retains and event.at in self._last_walks,
                walks=event.walks,
            )
            if event.local is False:
                return sequence([Do(backward), Do(Sync(event.at, sure))])
            return Do(backward)
        cell, rest = maybe[0], maybe[1:]
        condition = f"{_called_from(event.at)} reaches {cell}"
        reached = self._guessed(event, sure | {cell}, rest, averaged)
        return Branch(reached, self._guessed(event, sure, rest, averaged), condition)

    def _spend(self, event: Spends) -> Program:
        if not event.optimizer:
            cells = frozenset(c for c in self._own.by_hand if any(within(c, k) for k in event.keys))
            return Do(Step(event.at, BY_HAND, cells)) if cells else NOTHING
        if id(event) in self._primers and not self._own.optimizers[event.optimizer].outside:
            return Do(Step(event.at, event.optimizer, NO_CELLS))
        step = Do(Step(event.at, event.optimizer, scaler=event.scaler))
        if self._own.single:
            return step
        # Who steps is reached by some backward: that much is sure, whatever else is not.
        return sequence([Require(self._own.owned[event.optimizer]), step])

    def _clear(self, event: Clears) -> Program:
        cells, maybe = self._own.named(event)
        if not cells | maybe:
            return Do(Clear(event.at, NO_CELLS))  # of what, nobody knows
        parts: list[Program] = []
        if cells and id(event) in self._thrown_away:
            parts.append(Do(Read(event.at, cells)))
        if cells:
            if self._is_needed(event):
                parts.append(Do(Read(event.at, cells, needed=True)))
            parts.append(Do(Clear(event.at, cells, event.to_none)))
        for cell in sorted(maybe):
            condition = f"{cell} are those of {', '.join(sorted(event.keys))}"
            parts.append(
                Branch(Do(Clear(event.at, frozenset({cell}), event.to_none)), NOTHING, condition)
            )
        return sequence(parts)

    def _clip(self, event: Clips) -> Program:
        cells, _ = self._own.named(event)
        return Do(Clip(event.at, cells, event.changes)) if cells else NOTHING

    def _edit(self, event: Edits) -> Program:
        cells, maybe = self._own.named(event)
        if cells:
            return Do(Edit(event.at, cells, event.kind, event.factor))
        return Do(Edit(event.at, maybe, "change")) if maybe else NOTHING

    def _read(self, event: Reads) -> Program:
        cells, maybe = self._own.named(event)
        if not event.optimizer and cells <= self._own.leaves:
            maybe = self._own.cells  # nobody knows whose it is: it may be anybody's
        sure = Do(Read(event.at, cells, self._is_needed(event))) if cells else NOTHING
        return sequence([sure, Do(Read(event.at, maybe))]) if maybe else sure

    def _is_needed(self, event: Clears | Reads) -> bool:
        """Does it go wrong without gradients? Of cells that are a guess, nobody can say so."""
        return event.needed and not self._own.unknown

    def _unscale(self, event: Unscales) -> Program:
        return Do(Unscale(event.at, event.optimizer, event.scaler, event.puts_aside))

    def _renew(self, event: Renews) -> Program:
        cells = self._own.renewed(event)
        if not cells:
            return NOTHING
        return sequence([Do(Read(event.at, cells)), Do(Clear(event.at, cells))])

    def _resume(self, event: Resumes) -> Program:
        stepped = Step(event.at, event.optimizer, NO_CELLS)
        return Do(stepped) if event.optimizer in self._own.optimizers else NOTHING

    def _replace(self, event: Replaces) -> Program:
        return Do(Replace(event.at, event.keys & self._own.cells))

    def _take_over(self, event: TakesOver) -> Program:
        """What was exchanged so far is the optimizer's from here on, as if it were new."""
        mine = frozenset(k for k in self._replaced if any(within(k, whole) for whole in event.keys))
        cells = mine & self._own.cells
        if not cells:
            return NOTHING
        owners = ((name, cells & owned) for name, owned in self._own.owned.items())
        anew = [Do(Own(event.at, name, owned)) for name, owned in owners if owned]
        return sequence([Do(Gone(event.at, cells)), Do(Declare(event.at, cells, Traits())), *anew])

    def _excuse(self, event: Excuses) -> Program:
        everybody = not event.keys and not event.optimizer
        cells = self._own.cells if everybody else self._own.named(event)[0]
        return Do(Read(event.at, cells)) if cells else NOTHING

    def _keep(self, event: Keep) -> Program:
        return Do(replace(event, unwalked=event.at in self._only_shown))

    def _schedule(self, event: Schedule) -> Program:
        return Do(event) if event.optimizer in self._own.optimizers else NOTHING

    def _hand_over(self, event: HandsOver) -> Program:
        if not event.optimizer:
            return sequence(
                self._hand_over(replace(event, optimizer=name)) for name in self._own.optimizers
            )
        cells = self._own.owned.get(event.optimizer, NO_CELLS)
        if not cells:
            return NOTHING
        return sequence(
            [
                Do(Read(event.at, cells)),
                Branch(
                    Do(Clear(event.at, cells)),
                    Branch(Do(Edit(event.at, cells, "assign")), self._strange_step(event), None),
                    None,
                ),
            ]
        )

    def _strange_step(self, event: HandsOver) -> Program:
        """Somebody else may have stepped and cleared, or done nothing."""
        cells = self._own.owned[event.optimizer]
        stepped = [
            Do(Edit(event.at, cells, "assign")),
            Do(Step(event.at, event.optimizer)),
            Do(Clear(event.at, cells)),
        ]
        return Branch(sequence(stepped), NOTHING, None)


_SETTLE: dict[type[Event], Callable[[Any, Any], Program]] = {
    Deposits: Settling._deposit,
    Spends: Settling._spend,
    Clears: Settling._clear,
    Clips: Settling._clip,
    Edits: Settling._edit,
    Reads: Settling._read,
    Unscales: Settling._unscale,
    Renews: Settling._renew,
    Resumes: Settling._resume,
    Replaces: Settling._replace,
    TakesOver: Settling._take_over,
    Excuses: Settling._excuse,
    HandsOver: Settling._hand_over,
    Keep: Settling._keep,
    Schedule: Settling._schedule,
}


def _called_from(at: Place | None) -> str:
    """A place, and all calls on the way to it: what one call does, another need not."""
    return "" if at is None else f"{at} {_called_from(at.via)}"


def last_walks(program: Program) -> Iterator[Place]:
    """The places of backwards whose graph surely no other one walks later."""
    deposits = [event for event in events_in(program) if isinstance(event, Deposits)]
    for number, event in enumerate(deposits):
        if not event.retains:
            continue
        around = list(_in_its_loop(program, event))
        before = [e for e in deposits[:number] if any(e is inside for inside in around)]
        others = deposits[:number] + deposits[number + 1 :]
        if all(_is_apart(event, e, any(e is b for b in before)) for e in others):
            yield event.at


def _is_apart(event: Deposits, other: Deposits, comes_before: bool) -> bool:
    """Does the other one walk nothing of its graph, or only what it has itself not walked yet?"""
    if not (event.passes and other.passes):
        return False
    return comes_before or event.passes.isdisjoint(other.passes)


def _in_its_loop(program: Program, event: Deposits) -> Iterator[Deposits]:
    """All backwards in the innermost loop around this one."""
    around, todo = program, [(program, program)]
    while todo:
        piece, loop = todo.pop()
        if isinstance(piece, Do):
            if piece.event is event:
                around = loop
            continue
        inner = piece if isinstance(piece, Loop) else loop
        todo += [(part, inner) for part in piece.inner]
    return (e for e in events_in(around) if isinstance(e, Deposits))
