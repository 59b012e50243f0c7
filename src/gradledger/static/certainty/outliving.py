"""What is certain although a loop goes round without it for a while: GL701, GL603, GL502.

Until the first window is full no step has come, so that on some paths no sum has outlived one;
until some round exchanges a layer, the optimizer has all that there is; and a window that a flush
ends after its first micro-batch is clipped once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gradledger.ledger.events import Backward, Clear, Event, Keep, Release, Replace, Step
from gradledger.ledger.findings import Finding
from gradledger.static.ir import condition_names
from gradledger.static.ir.blocks import events_in, holds, pieces
from gradledger.static.ir.program import Branch, Do, Loop, Program, Sequence


def outlives_windows(finding: Finding, program: Program) -> bool:
    """Is it put there in each round of a loop that goes on behind its steps, and never let go?"""
    loops = list(_loops_of_windows(program))
    around = [loop for loop in loops if any(_keeps(e, finding) for e in _in_all_windows(loop))]
    keeping = [e for e in events_in(program) if _keeps(e, finding)]
    inside = [e for loop in around for e in _in_all_windows(loop) if _keeps(e, finding)]
    return len(inside) == len(keeping) > 0 and not any(
        isinstance(event, Release) and event.kept == finding.at
        for loop in around
        for event in events_in(loop)
    )


def is_exchanged_between_steps(finding: Finding, program: Program) -> bool:
    """Does a loop that steps exchange it in some round? The next step has the old one still."""
    loops = (piece for piece in pieces(program) if isinstance(piece, Loop))
    for loop in loops:
        events = list(events_in(loop.body))
        exchanges = any(isinstance(e, Replace) and e.at == finding.at for e in events)
        if exchanges and any(isinstance(e, Step) for e in events):
            return True
    return False


def is_clipped_in_windows(finding: Finding, program: Program) -> bool:
    """Does each round deposit and clip, and step and clear at the ends of windows, or to flush?"""
    for piece in pieces(program):
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


def _keeps(event: Event, finding: Finding) -> bool:
    return isinstance(event, Keep) and event.at == finding.at


def _loops_of_windows(program: Program) -> Iterator[Program]:
    """The bodies of loops in which a step comes with the windows, and with nothing else."""
    if isinstance(program, Loop):
        steps = [event for event in events_in(program.body) if isinstance(event, Step)]
        # Epochs have a loop over batches in them; where that has no data, ever, nobody trains.
        regular = list(_in_all_windows(program.body, loops=1))
        if steps and all(any(step is e for e in regular) for step in steps):
            yield program.body
    for piece in program.inner:
        yield from _loops_of_windows(piece)


def _in_all_windows(program: Program, *, loops: int = 0) -> Iterator[Event]:
    """What happens in each round, or in a certain one of each window, inside of so many loops."""
    if isinstance(program, Do):
        yield program.event
        return
    if isinstance(program, Loop):
        if not loops:
            return
        loops -= 1
    asked = program.condition if isinstance(program, Branch) else None
    if isinstance(program, Branch) and not (asked and condition_names.of_rounds(asked)):
        return
    for piece in program.inner:
        yield from _in_all_windows(piece, loops=loops)


SURE: dict[str, Callable[[Finding, Program], bool]] = {
    "GL502": is_clipped_in_windows,
    "GL603": is_exchanged_between_steps,
    "GL701": outlives_windows,
}
"""By rule: is it certain, although it is not on every path?"""
