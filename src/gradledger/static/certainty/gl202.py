"""GL202: a step has nothing to spend, if nobody else can have filled what it spends."""

from __future__ import annotations

from gradledger.ledger.events import Backward, Clear, Event, Step
from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.static.certainty.sight import Sight, straight_runs
from gradledger.static.ir.blocks import events_in, pieces
from gradledger.static.ir.program import Branch, Leave, Loop, Program, Sequence
from gradledger.static.project.module import Module


def surely_empty(finding: Finding, sight: Sight) -> bool | None:
    """Is it in a loop that has a backward? Else, somebody else may well fill the gradients."""
    if any(step == finding.at for _, step in sight.cleared_before_step):
        return True
    if sight.without_backward:
        return True if _is_forgotten(finding.at, sight) else None
    if not sight.sees_all:
        return True if _just_cleared(finding.at, sight) else None
    loops = [loop for loop in sight.around(finding.at) if isinstance(loop, Loop)]
    if any(_takes_turns(finding.at, loop) for loop in loops):
        return _just_cleared(finding.at, sight)
    return bool(loops)


def _is_forgotten(at: Place, sight: Sight) -> bool:
    """Does the loop around it clear what it spends, all for nothing?"""
    steps = [e for e in events_in(sight.program) if isinstance(e, Step) and e.at == at]
    if not steps or steps[0].optimizer not in sight.without_backward:
        return False
    cells = sight.owned[steps[0].optimizer]
    loops = [piece for piece in pieces(sight.program) if isinstance(piece, Loop)]
    around = [[*events_in(loop)] for loop in loops if any(e.at == at for e in events_in(loop))]
    return any(isinstance(e, Clear) and e.cells >= cells for e in min(around, key=len, default=[]))


def _takes_turns(at: Place, loop: Loop) -> bool:
    """Does a round either deposit or come here, as its data has it? Deposits may well come first.

    As where a queue has batches in it, and a marker behind those of a window.
    """
    asked_anew = (
        piece
        for piece in pieces(loop.body)
        if isinstance(piece, Branch) and piece.condition in (None, *loop.anew)
    )
    return any(
        any(event.at == at for event in events_in(way))
        and Backward not in way.kinds
        and (Backward in other.kinds or _goes_on(way))
        for branch in asked_anew
        for way, other in ((branch.then, branch.orelse), (branch.orelse, branch.then))
    )


def _goes_on(way: Program) -> bool:
    """Is the rest of the round left out behind it?"""
    last = way.inner[-1] if isinstance(way, Sequence) and way.inner else way
    return isinstance(last, Leave) and last.by == "continue"


def _just_cleared(at: Place, sight: Sight) -> bool:
    """Does its own clear stand right in front of the step, in a loop that has a backward?

    With nothing in between, nobody else can have filled what it spends.
    """
    module = sight.root.module
    if module is None or at.path != module.path or not sight.all_known:
        return False
    if not all(isinstance(loop, Loop) for loop in sight.around(at)):
        return False
    runs = [run for run in straight_runs(sight.program) if any(e.at == at for e in run)]
    found = [_clear_before(at, run, sight) for run in runs]
    return bool(found) and all(
        clear is not None and _nothing_between(clear, at, run, module)
        for clear, run in zip(found, runs, strict=True)
    )


def _clear_before(at: Place, run: list[Event], sight: Sight) -> Place | None:
    """Where all that the step at this place spends was cleared, a moment before."""
    place = next(i for i, event in enumerate(run) if event.at == at)
    step = run[place]
    if not isinstance(step, Step):
        return None
    optimizer = sight.root.optimizers.get(step.optimizer)
    if optimizer is None or not optimizer.torchs:
        return None
    for event in reversed(run[:place]):
        if isinstance(event, Clear) and event.cells >= sight.owned[step.optimizer]:
            return event.at
        if not isinstance(event, Clear | Step):
            return None
    return None


def _nothing_between(clear: Place, step: Place, run: list[Event], module: Module) -> bool:
    """Do the lines between the two say nothing but what happens in the run?"""
    if clear.path != step.path or clear.via != step.via:
        return False
    told = {event.at.line for event in run}
    lines = enumerate(module.lines[clear.line : step.line - 1], start=clear.line + 1)
    return clear.line <= step.line and all(
        number in told or not line.strip() or line.lstrip().startswith("#")
        for number, line in lines
    )
