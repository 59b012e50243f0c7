"""Programs under construction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gradledger.ledger.events import Batch, Event
from gradledger.ledger.values import replace
from gradledger.static.ir.effects import Excuses, Renews, Resumes, TakesOver
from gradledger.static.ir.program import (
    NOTHING,
    Branch,
    Call,
    Do,
    Leave,
    Loop,
    Program,
    Sequence,
    Try,
)

IDLE = frozenset({Batch, Excuses, Renews, Resumes, TakesOver})
"""Events that alone come to nothing."""


def sequence(parts: Iterable[Program]) -> Program:
    """The parts one after the other, flattened; what comes after an exit is left out."""
    flat: list[Program] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Sequence) else (part,))
        if flat and isinstance(flat[-1], Leave):
            break
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def branch(then: Program, orelse: Program, condition: str | None) -> Program:
    """A choice, if there is one: nothing to do on both sides is nothing."""
    if not (does(then) or does(orelse)):
        idle = sequence([then, orelse])
        # What was resumed on one side alone is not resumed on the other.
        return without(idle, Resumes) if holds(idle, Resumes) else idle
    return Branch(then, orelse, condition)


def does(program: Program) -> bool:
    """Does anything happen in it, apart from going on to other data and forgetting?"""
    match program:
        case Do(event):
            return type(event) not in IDLE
        case Leave():
            return True
        case Sequence(parts):
            return any(map(does, parts))
        case Branch(then, orelse):
            return does(then) or does(orelse)
        case Loop(body) | Call(body):
            return acts(body)
        case Try(body, handler):
            return does(body) or does(handler)
        case _:
            return False


def acts(program: Program) -> bool:
    """Does it hold an event? Exits alone, inside of what they leave, come to nothing."""
    return not program.kinds <= IDLE


def holds(program: Program, *kinds: type[Event]) -> bool:
    """Is there an event of one of these kinds in it?"""
    return not program.kinds.isdisjoint(kinds)


def pieces(program: Program) -> Iterator[Program]:
    """All pieces of a program, itself first, in the order of the text."""
    todo = [program]
    while todo:
        piece = todo.pop()
        yield piece
        todo.extend(reversed(piece.inner))


def events_in(program: Program) -> Iterator[Event]:
    """All events, in the order of the text."""
    return (piece.event for piece in pieces(program) if isinstance(piece, Do))


def conditions_in(program: Program) -> set[str]:
    """The names of all conditions that something depends on."""
    asked = (piece.condition for piece in pieces(program) if isinstance(piece, Branch))
    return {condition for condition in asked if condition}


def mapped(program: Program, how: Callable[[Program], Program]) -> Program:
    """The same piece, made of what `how` makes of the pieces in it."""
    match program:
        case Sequence(parts):
            return sequence(map(how, parts))
        case Branch(then, orelse, condition):
            return Branch(how(then), how(orelse), condition)
        case Loop(body) | Call(body):
            return replace(program, body=how(body))
        case Try(body, handler):
            return replace(program, body=how(body), handler=how(handler))
        case _:
            return program


def without(program: Program, kind: type[Event]) -> Program:
    """The program without the events of one kind."""

    def less(piece: Program) -> Program:
        match piece:
            case Do(event):
                return NOTHING if isinstance(event, kind) else piece
            case Branch(then, orelse, condition):
                return branch(less(then), less(orelse), condition)
            case _:
                return mapped(piece, less)

    return less(program)
