"""GL701: a sum keeps graphs, if it outlives the windows of its loop."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gradledger.ledger.events import Event, Keep, Release, Step
from gradledger.ledger.findings import Finding
from gradledger.static.ir import condition_names
from gradledger.static.ir.blocks import events_in
from gradledger.static.ir.program import Branch, Do, Loop, Program
from gradledger.static.solve.solver import Solution


def outlives_windows(finding: Finding, solution: Solution, options: Collection[str]) -> bool:
    """Is it put there in each round of a loop that goes on behind its steps, and never let go?

    Until the first window is full no step has come, so that on some paths no sum outlives one.
    """
    program = solution.program
    loops = list(_loops_of_windows(program))
    around = [loop for loop in loops if any(_keeps(e, finding) for e in _in_all_windows(loop))]
    keeping = [e for e in events_in(program) if _keeps(e, finding)]
    inside = [e for loop in around for e in _in_all_windows(loop) if _keeps(e, finding)]
    return len(inside) == len(keeping) > 0 and not any(
        isinstance(event, Release) and event.kept == finding.at
        for loop in around
        for event in events_in(loop)
    )


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
