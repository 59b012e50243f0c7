"""Programs under construction."""

from __future__ import annotations

from collections.abc import Iterable

from gradledger.ledger.events import Batch, Event
from gradledger.ledger.values import replace
from gradledger.static.lowering.effects import Excuses, Renews
from gradledger.static.program import (
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

IDLE = frozenset({Batch, Excuses, Renews})
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
        return sequence([then, orelse])
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


def events_in(program: Program) -> Iterable[Event]:
    """All events, in the order of the text."""
    match program:
        case Do(event):
            yield event
        case Sequence(parts):
            for part in parts:
                yield from events_in(part)
        case Branch(then, orelse):
            yield from events_in(then)
            yield from events_in(orelse)
        case Loop(body) | Call(body):
            yield from events_in(body)
        case Try(body, handler):
            yield from events_in(body)
            yield from events_in(handler)
        case _:
            return


def without(program: Program, kind: type[Event]) -> Program:
    """The program without the events of one kind."""
    match program:
        case Do(event):
            return NOTHING if isinstance(event, kind) else program
        case Sequence(parts):
            return sequence(without(part, kind) for part in parts)
        case Branch(then, orelse, condition):
            return branch(without(then, kind), without(orelse, kind), condition)
        case Loop(body) | Call(body):
            return replace(program, body=without(body, kind))
        case Try(body, handler):
            return replace(program, body=without(body, kind), handler=without(handler, kind))
        case _:
            return program


def conditions_in(program: Program) -> set[str]:
    """The names of all conditions that something depends on."""
    match program:
        case Branch(then, orelse, condition):
            found = conditions_in(then) | conditions_in(orelse)
            return found | {condition} if condition else found
        case Sequence(parts):
            return set().union(*map(conditions_in, parts))
        case Loop(body) | Call(body):
            return conditions_in(body)
        case Try(body, handler):
            return conditions_in(body) | conditions_in(handler)
        case _:
            return set()


__all__ = [
    "NOTHING",
    "acts",
    "branch",
    "conditions_in",
    "does",
    "events_in",
    "holds",
    "sequence",
    "without",
]
