"""What a program depends on: conditions that change, that decide, that people choose.

And those whose answer nobody needs to remember.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradledger.ledger.events import Event
from gradledger.static.ir.blocks import (
    acts,
    conditions_in,
    events_in,
    holds,
    mapped,
    pieces,
    sequence,
)
from gradledger.static.ir.condition_names import of_rounds, window_of
from gradledger.static.ir.effects import Clears, Deposits, HandsOver, Spends
from gradledger.static.ir.program import Branch, Do, Forget, Loop, Program, Sequence, Tick


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


def primers(program: Program) -> set[int]:
    """Steps before any backward, by identity, of optimizers that step in a loop later on.

    They find nothing, and are not meant to: a scheduler is to see that its optimizer has stepped.
    """
    once = set(map(id, _outside_loops(program)))
    looping = {
        e.optimizer
        for piece in pieces(program)
        if isinstance(piece, Loop)
        for e in events_in(piece)
        if isinstance(e, Spends) and e.optimizer
    }
    found: set[int] = set()
    for event in events_in(program):
        if isinstance(event, Deposits | HandsOver):
            break
        if isinstance(event, Spends) and event.optimizer in looping and id(event) in once:
            found.add(id(event))
    return found


def _outside_loops(program: Program) -> Iterator[Event]:
    """The events that happen once, in the order of the text."""
    if isinstance(program, Do):
        yield program.event
    for piece in program.inner if not isinstance(program, Loop) else ():
        yield from _outside_loops(piece)


def only_left_out(program: Program) -> set[str]:
    """Conditions by which somebody chose to leave out a clear or a step, and nothing else."""
    return {
        piece.condition
        for piece in pieces(program)
        if isinstance(piece, Branch) and piece.condition
        for side, other in (piece.inner, piece.inner[::-1])
        if holds(side, Clears, Spends) and not holds(side, Deposits) and not acts(other)
    }


def decide_each_step(program: Program) -> set[str]:
    """Conditions that every step depends on, by one answer or the other."""
    asked: list[frozenset[str]] = []

    def note(piece: Program, around: frozenset[str]) -> None:
        if isinstance(piece, Do):
            if isinstance(piece.event, Spends | HandsOver):
                asked.append(around)
            return
        if isinstance(piece, Branch) and piece.condition:
            around |= {piece.condition}
        for inner in piece.inner if holds(piece, Spends, HandsOver) else ():
            note(inner, around)

    note(program, frozenset())
    return set(frozenset.intersection(*asked)) if asked else set()


def deciding(program: Program) -> set[str]:
    """Conditions on which an event depends, and not just whether a loop goes on."""
    branches = [p for p in pieces(program) if isinstance(p, Branch) and p.condition]
    decide = {b.condition for b in branches if acts(b.then) or acts(b.orelse)}
    windows = {window_of(condition) for condition in decide if condition}
    # Whether a loop goes on may depend on windows that count for other reasons.
    rounds = {b.condition for b in branches if b.condition and of_rounds(b.condition)}
    leaving = {c for c in rounds if c and window_of(c) in windows | {None}}
    return {condition for condition in decide | leaving if condition}


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
    found: set[str | None] = set()
    for piece in pieces(program):
        match piece:
            case Forget(name):
                found.add(name)
            case Tick(starts, ends):
                found |= {starts, ends}
            case Loop(_, _, last, first, ran_out):
                found |= {last, first, ran_out}
    return {name for name in found if name}


def independent(program: Program) -> Program:
    """The same program, where a question has no name that is asked once, and each time anew.

    To know its answer afterwards would tell two paths from each other that never part again.
    """
    asked = Counter(p.condition for p in pieces(program) if isinstance(p, Branch))
    once = frozenset(name for name, times in asked.items() if name and times == 1)
    return _without_names(program, once, frozenset())


def _without_names(program: Program, once: frozenset[str], fresh: frozenset[str]) -> Program:
    """`fresh`: what was forgotten, in this round of the innermost loop."""
    match program:
        case Sequence(parts):
            known: list[Program] = []
            for part in parts:
                if isinstance(part, Forget):
                    fresh |= {part.condition}
                known.append(_without_names(part, once, fresh))
            return sequence(known)
        case Branch(then, orelse, condition):
            return Branch(
                _without_names(then, once, fresh),
                _without_names(orelse, once, fresh),
                None if condition in once & fresh else condition,
            )
        case Loop():
            return mapped(program, lambda piece: _without_names(piece, once, frozenset()))
        case _:
            return mapped(program, lambda piece: _without_names(piece, once, fresh))
