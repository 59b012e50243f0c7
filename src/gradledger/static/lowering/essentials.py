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
from gradledger.static.lowering.blocks import does, sequence
from gradledger.static.program import NOTHING, Branch, Call, Do, Loop, Program, Sequence, Try

LEFT_OUT = (Clip, Compare, Keep, Release, Schedule, Sync, Unscale, Update)


def essential(program: Program) -> Program:
    """Deposits, spends and clears alone, and the choices between them."""
    match program:
        case Do(event):
            return NOTHING if isinstance(event, LEFT_OUT) else Do(_plain(event))
        case Sequence(parts):
            return sequence(map(essential, parts))
        case Branch(then, orelse, condition):
            then, orelse = essential(then), essential(orelse)
            if then == orelse:
                return then
            return Branch(then, orelse, condition) if does(then) or does(orelse) else NOTHING
        case Loop(body):
            return replace(program, body=essential(body))
        case Call(body):
            return replace(program, body=essential(body))
        case Try(body, handler, fault):
            return Try(essential(body), essential(handler), fault)
        case _:
            return program


def _plain(event: Event) -> Event:
    match event:
        case Backward():
            return replace(event, scaler=None, local=False, retain_graph=False, walks=frozenset())
        case Step():
            return replace(event, scaler=None)
        case _:
            return event
