"""Which backward passes are the last to walk their graph."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.places import Place
from gradledger.static.lowering.blocks import events_in
from gradledger.static.lowering.effects import Deposits
from gradledger.static.program import Do, Loop, Program


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
