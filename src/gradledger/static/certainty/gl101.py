"""GL101: what a step spends was spent before, if nothing can have cleared it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gradledger.ledger.events import Backward, Clear, Edit, Event, Step
from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.static.certainty.sight import Sight, stepping, straight_runs
from gradledger.static.ir import condition_names
from gradledger.static.ir.blocks import events_in, holds, pieces
from gradledger.static.ir.dependence import changing
from gradledger.static.ir.keys import NO_KEYS
from gradledger.static.ir.program import Branch, Do, Loop, Program, Sequence
from gradledger.static.solve.solver import Solution


def surely_spent_before(finding: Finding, sight: Sight) -> bool:
    """Is it the second step in a row, or does nothing in its own loop clear?"""
    around = sight.around(finding.at)
    return any(
        _steps_again(finding, loop)
        or _uncleared(finding, loop, sight)
        or _clears_sometimes(finding, loop)
        for loop in around
    )


def is_cleared_sometimes(finding: Finding, solution: Solution, options: Collection[str]) -> bool:
    """Does a loop step in each round, and clear in one of several alone?"""
    return any(_clears_sometimes(finding, piece) for piece in pieces(solution.program))


def _clears_sometimes(finding: Finding, loop: Program) -> bool:
    """Does each round deposit and step, and nothing clear but each hundredth, say?"""
    body = loop.body if isinstance(loop, Loop) else None
    parts = body.parts if isinstance(body, Sequence) else ()
    each = [part.event for part in parts if isinstance(part, Do)]
    steps = any(isinstance(event, Step) and event.at == finding.at for event in each)
    if not steps or len(stepping(loop)) > 1:
        return False
    deposits = any(isinstance(e, Backward) and not e.cells.isdisjoint(finding.cells) for e in each)
    clearing = [part for part in parts if holds(part, Clear, Edit)]
    return deposits and bool(clearing) and all(map(_is_once_in_several, clearing))


def _is_once_in_several(program: Program) -> bool:
    """Is it asked for one round of several, and only cleared there?"""
    if not isinstance(program, Branch) or holds(program, Backward, Step, Edit):
        return False
    window = condition_names.window_of(program.condition or "")
    size = condition_names.size_of(window or "")
    several = size not in ("", "1")  # a name is meant to be more: who clears always, doesn't ask
    return several and not all(holds(way, Clear) for way in program.inner)


def _steps_again(finding: Finding, program: Program) -> bool:
    """Is it the second step in a row, with no way round, and nothing cleared or edited between?

    What was deposited between the two comes on top of what the first one has spent.
    """
    return any(_second_in_a_row(finding, run) for run in straight_runs(program))


def _second_in_a_row(finding: Finding, run: list[Event]) -> bool:
    for place, step in enumerate(run):
        if not isinstance(step, Step) or step.at != finding.at:
            continue
        between: list[Event] = []
        for event in reversed(run[:place]):
            if isinstance(event, Step) and event.optimizer == step.optimizer:
                return _all_is_left(between, finding.cells)
            between.append(event)
    return False


def _all_is_left(events: list[Event], cells: frozenset[str]) -> bool:
    """Do these neither clear nor change what is in the cells?

    With a backward among them, a clear of others may be one of these, and misread by us.
    """
    if any(isinstance(event, Clear | Edit) and _touches(event, cells) for event in events):
        return False
    kinds = set(map(type, events))
    return not {Backward, Clear} <= kinds


def _touches(event: Clear | Edit, cells: frozenset[str]) -> bool:
    """Does it change what is in these cells, or may it?"""
    return not event.cells or not event.cells.isdisjoint(cells)


def _uncleared(finding: Finding, loop: Program, sight: Sight) -> bool:
    """Does nothing in the step's own loop clear, but for what other optimizers there hold?

    Where there are as many clears as optimizers, one of them is more likely misread by us,
    unless all nets are made in sight, and none out of another; or what it clears is one layer.
    """
    events = _in_one_run(finding.at, loop, changing(loop))
    clears = [event.cells for event in events if isinstance(event, Clear)]
    if not clears:
        return True
    if not sight.all_known:
        return False
    if len(sight.owned) == 1 and all(clears):
        from gradledger.static.lower.net_parts import are_parts_alone

        if are_parts_alone(sight.root, NO_KEYS.union(*clears), finding.cells):
            return True
    if len(stepping(loop)) <= len(set(clears)):
        meant = finding.cells.union(*clears)
        if not sight.all_made or not meant <= sight.apart:
            return False
    return all(cells and cells.isdisjoint(finding.cells) for cells in clears)


def _in_one_run(at: Place, program: Program, unsteady: set[str]) -> Iterator[Event]:
    """The events that can happen beside the one at this place, while no option changes."""
    if isinstance(program, Do):
        yield program.event
        return
    sides = program.inner
    if isinstance(program, Branch) and program.condition and program.condition not in unsteady:
        taken = tuple(s for s in sides if any(event.at == at for event in events_in(s)))
        sides = taken or sides
    for side in sides:
        yield from _in_one_run(at, side, unsteady)
