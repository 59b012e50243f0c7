"""A program as the schedules of one optimizer see it: for when there are too many paths.

What is deposited and cleared is none of their business: they ask whether the optimizer has stepped.
Without cells there are hardly any pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from gradledger.ledger.events import NO_CELLS, Event, Own, Schedule, Skipped, Step
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.ir.blocks import events_in, mapped, pieces
from gradledger.static.ir.essentials import asking
from gradledger.static.ir.program import NOTHING, Branch, Do, Loop, Program, Require, Sequence


def has_schedules(program: Program, owner: Own) -> bool:
    """Does a schedule of this optimizer move?"""
    return any(
        isinstance(event, Schedule) and event.optimizer == owner.optimizer
        for event in events_in(program)
    )


def moving(program: Program, owner: Own) -> Program:
    """The optimizer's steps, the moves of its schedules, and the choices between them."""

    def less(piece: Program) -> Program:
        match piece:
            case Do(Own() | Step() as event) if event.optimizer == owner.optimizer:
                return Do(replace(event, cells=NO_CELLS))
            case Do(Schedule() | Skipped() as event) if event.optimizer == owner.optimizer:
                return piece
            case Do() | Require():
                return NOTHING
            case Branch(then, orelse, condition):
                then, orelse = less(then), less(orelse)
                return then if then == orelse else Branch(then, orelse, condition)
            case _:
                return mapped(piece, less)

    return asking(less(program))


def comes_first(at: Place, program: Program) -> bool:
    """Does nobody step before it, on the way to it in the innermost loop around it?"""
    loops = [p for p in pieces(program) if isinstance(p, Loop) and _has(p, at)]
    innermost = min(loops, key=lambda loop: sum(1 for _ in events_in(loop)), default=program)
    return not any(isinstance(event, Step) for event in _on_the_way(at, innermost))


def _on_the_way(at: Place, program: Program) -> Iterator[Event]:
    """The events before it, without those of other ways."""
    if isinstance(program, Sequence):
        before = list(takewhile(lambda part: not _has(part, at), program.parts))
        for part in before:
            yield from events_in(part)
        program = program.parts[len(before)]
    for piece in program.inner if not isinstance(program, Sequence) else ():
        if _has(piece, at):
            yield from _on_the_way(at, piece)
            return
    if isinstance(program, Sequence):
        yield from _on_the_way(at, program)


def _has(program: Program, at: Place) -> bool:
    return any(event.at == at for event in events_in(program))
