"""A program as one of its optimizers sees it: for when there are too many paths.

Each further optimizer multiplies the pages: whether its cells are full, spent or empty is followed
together with whether the others' are. Most laws ask about one owner, and without the others' cells
there are few pages.
"""

from __future__ import annotations

from gradledger.ledger.events import (
    BY_HAND,
    CellNames,
    Compare,
    Event,
    Own,
    Schedule,
    Step,
    Unscale,
)
from gradledger.ledger.values import replace
from gradledger.static.ir.blocks import events_in, mapped
from gradledger.static.ir.essentials import asking
from gradledger.static.ir.program import NOTHING, Branch, Do, Program, Require


def owners(program: Program) -> tuple[Own, ...]:
    """The optimizers of a program, if there are several, and who updates the rest by hand."""
    found = [event for event in events_in(program) if isinstance(event, Own)]
    if len(found) < 2:
        return ()
    owned = frozenset().union(*(owner.cells for owner in found))
    by_hand = frozenset().union(
        *(
            e.cells or ()
            for e in events_in(program)
            if isinstance(e, Step) and e.optimizer == BY_HAND
        )
    )
    if by_hand - owned:
        found.append(Own(found[0].at, BY_HAND, by_hand - owned))
    return tuple(found)


def alone(program: Program, owner: Own) -> Program:
    """Without other optimizers and their cells, and without what only they depend on."""

    def less(piece: Program) -> Program:
        match piece:
            case Do(event):
                seen = _seen(event, owner)
                return NOTHING if seen is None else Do(seen)
            case Require(cells):
                return Require(cells & owner.cells) if cells & owner.cells else NOTHING
            case Branch(then, orelse, condition):
                then, orelse = less(then), less(orelse)
                return then if then == orelse else Branch(then, orelse, condition)
            case _:
                return mapped(piece, less)

    return asking(less(program))


def _seen(event: Event, owner: Own) -> Event | None:
    match event:
        case Compare():
            return None
        case Own() | Step() | Schedule() | Unscale() if event.optimizer not in (
            owner.optimizer,
            BY_HAND,
        ):
            return None
    cells: CellNames | None = getattr(event, "cells", None)
    if cells is None or cells <= owner.cells:
        return event
    return replace(event, cells=cells & owner.cells) if cells & owner.cells else None
