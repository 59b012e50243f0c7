"""What a program depends on: conditions that change, that decide, and that people choose."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.events import (
    Event,
)
from gradledger.static.lowering.blocks import acts, conditions_in, events_in
from gradledger.static.lowering.effects import (
    Clears,
    Deposits,
    Effect,
    HandsOver,
    Spends,
)
from gradledger.static.program import (
    Branch,
    Call,
    Do,
    Forget,
    Loop,
    Program,
    Sequence,
    Tick,
    Try,
)


def thrown_away(program: Program) -> set[int]:
    """Clears outside of all loops, by identity, after which no step comes before other deposits.

    A benchmark, a calibration or a probe: nobody meant to learn from it.
    """
    flat = [
        e for e in _outside_loops(program) if isinstance(e, Deposits | Spends | Clears | HandsOver)
    ]
    found: set[int] = set()
    for place, event in enumerate(flat):
        if isinstance(event, Clears):
            following = (e for e in flat[place + 1 :] if not isinstance(e, Clears))
            if not isinstance(next(following, None), Spends):
                found.add(id(event))
    return found


def _outside_loops(program: Program) -> Iterator[Event]:
    match program:
        case Do(event):
            yield event
        case Sequence(parts):
            for part in parts:
                yield from _outside_loops(part)
        case Branch(then, orelse):
            yield from _outside_loops(then)
            yield from _outside_loops(orelse)
        case Call(body):
            yield from _outside_loops(body)
        case Try(body, handler):
            yield from _outside_loops(body)
            yield from _outside_loops(handler)


def only_left_out(program: Program) -> set[str]:
    """Conditions by which somebody chose to leave out a clear or a step, and nothing else."""
    match program:
        case Branch(then, orelse, condition):
            found = only_left_out(then) | only_left_out(orelse)
            for side, other in ((then, orelse), (orelse, then)):
                events = [e for e in events_in(side) if isinstance(e, Effect)]
                if condition and events and not acts(other):
                    kinds = {type(e) for e in events}
                    if kinds & {Clears, Spends} and Deposits not in kinds:
                        found.add(condition)
            return found
        case Sequence(parts):
            return set().union(*map(only_left_out, parts))
        case Loop(body) | Call(body):
            return only_left_out(body)
        case Try(body, handler):
            return only_left_out(body) | only_left_out(handler)
        case _:
            return set()


def deciding(program: Program) -> set[str]:
    """Conditions on which an event depends, and not just whether a loop goes on."""
    match program:
        case Branch(then, orelse, condition):
            found = deciding(then) | deciding(orelse)
            if condition and (
                acts(then) or acts(orelse) or " round" in condition or "round " in condition
            ):
                found.add(condition)
            return found
        case Sequence(parts):
            return set().union(*map(deciding, parts))
        case Loop(body) | Call(body):
            return deciding(body)
        case Try(body, handler):
            return deciding(body) | deciding(handler)
        case _:
            return set()


def asked_anew(body: Program) -> frozenset[str]:
    """Conditions that a loop's body forgets before it asks them."""
    anew: set[str] = set()
    asked: set[str] = set()
    for part in body.parts if isinstance(body, Sequence) else (body,):
        if isinstance(part, Forget):
            if part.condition not in asked:
                anew.add(part.condition)
        else:
            asked |= conditions_in(part)
    return frozenset(anew)


def changing(program: Program) -> set[str]:
    """Names that are assigned inside of a loop, and conditions that a counter decides."""
    match program:
        case Forget(name):
            return {name}
        case Tick(starts, ends):
            return {starts, ends}
        case Branch(then, orelse):
            return changing(then) | changing(orelse)
        case Sequence(parts):
            return set().union(*map(changing, parts))
        case Loop(body, _, last, first, ran_out):
            return changing(body) | {c for c in (last, first, ran_out) if c}
        case Call(body):
            return changing(body)
        case Try(body, handler):
            return changing(body) | changing(handler)
        case _:
            return set()
