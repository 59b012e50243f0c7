"""GL503: a schedule moves too early, if it does so whenever it moves for the first time."""

from __future__ import annotations

from collections.abc import Collection

from gradledger.ledger.events import Event, Own, Schedule, Step
from gradledger.ledger.findings import Finding
from gradledger.static.ir.program import Branch, Do, Program, Try
from gradledger.static.solve.breaches import Breaches, Fault, Visit
from gradledger.static.solve.solver import Solution


def is_early_at_first(fault: Fault, visit: Visit, met: Breaches) -> bool:
    """True if it is too early on every path, whenever it moves for the first time."""
    _, at = fault
    firsts = [
        # To look a visit up by its key would add it to what is being gone through.
        moves in met.broken and path in met.broken[moves].get(fault, ())
        for moves, event in met.schedules.items()
        if event.at == at
        for path in met.met[moves]
        if all(log.name != event.scheduler for log in path[0].schedulers)
    ]
    return bool(firsts) and all(firsts)


def is_first_of_all(finding: Finding, solution: Solution, options: Collection[str]) -> bool:
    """True if it moves ahead of each step in the text, and whatever happens.

    This is about an optimizer that comes from outside, which may have stepped before: that is no
    excuse for a loop that a new one would go round as well.
    """
    before: list[Event] = []
    moves = _ahead_of(solution.program, finding, before, always=True)
    if not isinstance(moves, Schedule):
        return False
    made = {e.at for e in before if isinstance(e, Own)}
    if any(
        e.optimizer == moves.optimizer and e.at != finding.at for e in before if isinstance(e, Own)
    ):
        return False  # it was met further up, or is one of the file's, which another function steps
    mine = [e for e in before if isinstance(e, Step) and e.optimizer == moves.optimizer]
    return bool(mine) and all(step.at in made for step in mine)


def _ahead_of(
    program: Program, finding: Finding, before: list[Event], *, always: bool
) -> Event | bool | None:
    """The event of the finding, if nothing decides whether it happens; False, if something does.

    What happens ahead of it is noted on the way.
    """
    if isinstance(program, Do):
        if isinstance(program.event, Schedule) and program.event.at == finding.at:
            return program.event if always else False
        before.append(program.event)
        return None
    always = always and not isinstance(program, Branch | Try)
    for piece in program.inner:
        found = _ahead_of(piece, finding, before, always=always)
        if found is not None:
            return found
    return None
