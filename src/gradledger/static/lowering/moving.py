"""A program as the schedules of one optimizer see it: for when there are too many paths.

What is deposited and cleared is none of their business: they ask whether the optimizer has stepped.
Without cells there are hardly any pages.
"""

from __future__ import annotations

from gradledger.ledger.events import NO_CELLS, Own, Schedule, Skipped, Step
from gradledger.ledger.values import replace
from gradledger.static.lowering.blocks import events_in, mapped
from gradledger.static.lowering.essentials import asking
from gradledger.static.program import NOTHING, Branch, Do, Program, Require


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
