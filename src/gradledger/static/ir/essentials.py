"""A program without what only some rules look at: for when there are too many paths."""

from __future__ import annotations

from gradledger.ledger.events import (
    Backward,
    Clip,
    Compare,
    Event,
    Keep,
    Release,
    Schedule,
    Step,
    Sync,
    Unscale,
    Update,
)
from gradledger.ledger.values import replace
from gradledger.static.ir.blocks import does, mapped
from gradledger.static.ir.dependence import deciding
from gradledger.static.ir.program import NOTHING, Branch, Do, Program, Tick

LEFT_OUT = (Clip, Compare, Keep, Release, Schedule, Sync, Unscale, Update)


def essential(program: Program) -> Program:
    """Deposits, spends and clears alone, and the choices between them."""
    return asking(_essential(program))


def _essential(program: Program) -> Program:
    match program:
        case Do(event):
            return NOTHING if isinstance(event, LEFT_OUT) else Do(_plain(event))
        case Branch(then, orelse, condition):
            then, orelse = _essential(then), _essential(orelse)
            if then == orelse:
                return then
            return Branch(then, orelse, condition) if does(then) or does(orelse) else NOTHING
        case _:
            return mapped(program, _essential)


def asking(program: Program) -> Program:
    """Without windows of which nothing depends any more, and without other such questions."""
    asked = frozenset(deciding(program))

    def less(piece: Program) -> Program:
        match piece:
            case Tick(starts, ends):
                return piece if {starts, ends} & asked else NOTHING
            case Branch(then, orelse, condition):
                return Branch(less(then), less(orelse), condition if condition in asked else None)
            case _:
                return mapped(piece, less)

    return less(program)


def _plain(event: Event) -> Event:
    match event:
        case Backward():
            return replace(event, scaler=None, local=False, retain_graph=False, walks=frozenset())
        case Step():
            return replace(event, scaler=None)
        case _:
            return event
