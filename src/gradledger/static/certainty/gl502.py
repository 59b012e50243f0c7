"""GL502: a clip changes a part of a window, if the window ends behind it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gradledger.ledger.events import Backward, Clear, Event, Step
from gradledger.ledger.findings import Finding
from gradledger.static.certainty.sight import Sight, stepping
from gradledger.static.ir import condition_names
from gradledger.static.ir.blocks import events_in, holds, pieces
from gradledger.static.ir.program import Branch, Do, Forget, Loop, Program, Require, Sequence
from gradledger.static.solve.solver import Solution


def is_in_a_window(finding: Finding, sight: Sight) -> bool:
    """An owner of the clipped cells steps in the loop, or right behind it.

    Else they are in no window of this loop.
    """
    owners = {owner for owner, cells in sight.owned.items() if cells & finding.cells}
    around = sight.around(finding.at)
    if any(not owners.isdisjoint(stepping(loop)) for loop in around):
        return True
    return any(_is_a_window(loop, owners, sight.program) for loop in around)


def _is_a_window(loop: Program, owners: set[str], program: Program) -> bool:
    """Is each loss of a loop divided, and does the step come first of what follows on it?"""
    passes = [e for e in events_in(loop) if isinstance(e, Backward)]
    if not passes or any(e.weight.divisor in (None, 1) for e in passes):
        return False
    for piece in pieces(program):
        if isinstance(piece, Sequence) and any(part is loop for part in piece.parts):
            place = next(i for i, part in enumerate(piece.parts) if part is loop)
            behind = [p for p in piece.parts[place + 1 :] if not isinstance(p, Forget | Require)]
            match behind[0] if behind else None:
                case Do(Step(optimizer=optimizer)):
                    return optimizer in owners
    return False


def is_clipped_in_windows(finding: Finding, solution: Solution, options: Collection[str]) -> bool:
    """Does each round deposit and clip, and step and clear at the ends of windows, or to flush?

    A window that a flush ends after its first micro-batch is clipped once.
    """
    for piece in pieces(solution.program):
        body = piece.body if isinstance(piece, Loop) else None
        parts = body.parts if isinstance(body, Sequence) else ()
        each = [part.event for part in parts if isinstance(part, Do)]
        if any(e.at == finding.at for e in each) and any(isinstance(e, Backward) for e in each):
            ending = [part for part in parts if holds(part, Step, Clear)]
            steps = {e.optimizer for part in ending for e in events_in(part) if isinstance(e, Step)}
            return len(steps) == 1 and all(map(_ends_a_window, ending))
    return False


def _ends_a_window(program: Program) -> bool:
    """Is it asked first which micro-batch this is, and is nothing sure to step in all others?"""
    if (
        not isinstance(program, Branch)
        or condition_names.window_of(program.condition or "") is None
    ):
        return False
    return not all(any(isinstance(e, Step) for e in _surely_in(way)) for way in program.inner)


def _surely_in(program: Program) -> Iterator[Event]:
    if isinstance(program, Do):
        yield program.event
    elif not isinstance(program, Branch | Loop):
        for piece in program.inner:
            yield from _surely_in(piece)
