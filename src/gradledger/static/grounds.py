"""What a finding needs to be certain, besides a law that is broken on every path.

To say that nothing clears, or that nothing spends, is to say that whatever does was seen. Where
something close by does clear or spend, and only seems to be for other cells, the mistake is more
often ours than the program's: such a finding is possible, and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradledger.ledger.events import Backward, Clear, Edit, Event, Own, Step, Unscale
from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.lowering.blocks import events_in, pieces
from gradledger.static.lowering.dependence import changing
from gradledger.static.lowering.effects import HandsOver, Spends
from gradledger.static.lowering.roots import Root
from gradledger.static.lowering.unspent import may_be_used
from gradledger.static.program import (
    Branch,
    Do,
    Forget,
    Loop,
    Program,
    Require,
    Sequence,
    Tick,
)
from gradledger.static.project import Module

OF_ABSENCE = frozenset({"GL202", "GL501"})
"""With several optimizers, nobody can be sure that a backward did not reach one of them."""

OF_ONE_OPTIMIZER = frozenset({"GL403", "GL405", "GL802"})
"""These count what happens between two steps: whose, is only clear where one steps."""


class Grounds:
    """How well the code around a finding is understood."""

    def __init__(self, program: Program, root: Root, *, sees_all: bool) -> None:
        self._program = program
        self._root = root
        self._sees_all = sees_all
        self._owned = {e.optimizer: e.cells for e in events_in(program) if isinstance(e, Own)}
        owned = list(self._owned.values())
        apart = sum(map(len, owned)) == len(frozenset().union(*owned))
        unseen = any(o.outside and o.keys is None for o in root.optimizers.values())
        effects = events_in(root.program) if root.program is not None else ()
        spent = any(isinstance(e, Spends | HandsOver) for e in effects)
        self._nobody_steps = bool(owned) and not spent
        self._all_known = bool(owned) and apart and not unseen
        """It is known who made each optimizer or whose parameters it has, and none share any."""
        self._all_made = all(o.keys and not o.outside for o in root.optimizers.values())
        """The code makes each optimizer itself, for nets that have names."""

    def sobered(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """The findings, those that lack their grounds as possible ones, or not at all."""
        for finding in findings:
            if self._nobody_steps and finding.rule != "GL201":
                continue  # all else follows from that
            if finding.rule in OF_ABSENCE and not self._sees_all:
                if finding.rule == "GL202" and self._just_cleared(finding.at):
                    yield finding
                continue
            if finding.rule == "GL203" and not self._one_steps(finding):
                continue  # what one optimizer leaves over may be what another has no use for
            yield finding if self._carry(finding) else replace(finding, certainty="possible")

    def _carry(self, finding: Finding) -> bool:
        if finding.rule in self._root.doubted:
            return False
        match finding.rule:
            case "GL101":
                around = list(self._around(finding.at))
                if any(_steps_again(finding, loop) for loop in around):
                    return True
                return any(self._uncleared(finding, loop) for loop in around)
            case "GL201":
                around = list(self._around(finding.at))
                if self._nobody_steps:
                    return all(isinstance(a, Loop) for a in around) and not self._may_be_used()
                if any(_comes_between(finding.at, loop) for loop in around):
                    return True
                if any(len(_stepping(loop)) != 1 for loop in around):
                    return False
                return self._all_known or any(map(_has_windows, around))
            case "GL202":
                # Where no backward is near, somebody else may well fill the gradients.
                return any(isinstance(loop, Loop) for loop in self._around(finding.at))
            case "GL204":
                return not self._root.freezes
            case "GL401":
                return not any(
                    _unscaled_before(finding.at, loop) for loop in self._around(finding.at)
                )
            case "GL502":
                return any(self._spent_in(finding, loop) for loop in self._around(finding.at))
            case "GL503":
                return finding.at not in self._root.deferred
            case "GL504":
                return finding.at not in self._root.uncounted
            case "GL606":
                return not any(_holds_deposits(finding, loop) for loop in self._around(finding.at))
            case "GL801":
                # One that nobody knows to be averaged, may be.
                backwards = (e for e in events_in(self._program) if isinstance(e, Backward))
                return all(backward.local for backward in backwards)
            case rule if rule in OF_ONE_OPTIMIZER:
                return self._one_steps(finding)
        return True

    def _may_be_used(self) -> bool:
        """May anything in the file step, or look at gradients, that was not followed?"""
        module = self._root.module
        return module is None or may_be_used(module, self._root.optimizers.values())

    def _just_cleared(self, at: Place) -> bool:
        """Does its own clear stand right in front of the step, in a loop that has a backward?

        With nothing in between, nobody else can have filled what it spends.
        """
        module = self._root.module
        if module is None or at.path != module.path or not self._all_known:
            return False
        around = list(self._around(at))
        if not all(isinstance(loop, Loop) for loop in around):
            return False
        runs = [run for run in _straight_runs(self._program) if any(e.at == at for e in run)]
        found = [self._clear_before(at, run) for run in runs]
        return bool(found) and all(
            clear is not None and _nothing_between(clear, at, run, module)
            for clear, run in zip(found, runs, strict=True)
        )

    def _clear_before(self, at: Place, run: list[Event]) -> Place | None:
        """Where all that the step at this place spends was cleared, a moment before."""
        place = next(i for i, event in enumerate(run) if event.at == at)
        step = run[place]
        if not isinstance(step, Step):
            return None
        optimizer = self._root.optimizers.get(step.optimizer)
        if optimizer is None or not optimizer.torchs:
            return None
        for event in reversed(run[:place]):
            if isinstance(event, Clear) and event.cells >= self._owned[step.optimizer]:
                return event.at
            if not isinstance(event, Clear | Step):
                return None
        return None

    def _uncleared(self, finding: Finding, loop: Program) -> bool:
        """Does nothing in the step's own loop clear, but for what other optimizers there hold?

        Where there are as many clears as optimizers, one of them is more likely misread by us,
        unless all nets are made in sight, and none out of another.
        """
        events = _in_one_run(finding.at, loop, changing(loop))
        clears = [event.cells for event in events if isinstance(event, Clear)]
        if not clears:
            return True
        if not self._all_known:
            return False
        if len(_stepping(loop)) <= len(set(clears)):
            meant = finding.cells.union(*clears)
            if not self._all_made or not meant <= self._root.apart:
                return False
        return all(cells and cells.isdisjoint(finding.cells) for cells in clears)

    def _spent_in(self, finding: Finding, loop: Program) -> bool:
        """Does an owner of its cells step in the loop? Else they are in no window of this loop."""
        owners = {owner for owner, cells in self._owned.items() if cells & finding.cells}
        return not owners.isdisjoint(_stepping(loop))

    def _one_steps(self, finding: Finding) -> bool:
        """Is there one optimizer alone that steps in the finding's own loop?"""
        return all(len(_stepping(loop)) <= 1 for loop in self._around(finding.at))

    def _around(self, at: Place) -> Iterator[Program]:
        """The innermost loop that has a backward round each event at this place, or all there is.

        What goes round some optimizers is no loop of training.
        """
        return _loops(self._program, at, self._program)


def _loops(program: Program, at: Place, around: Program) -> Iterator[Program]:
    if isinstance(program, Do):
        if program.event.at == at:
            yield around
        return
    if isinstance(program, Loop) and Backward in program.kinds:
        around = program
    for piece in program.inner:
        yield from _loops(piece, at, around)


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


def _steps_again(finding: Finding, program: Program) -> bool:
    """Is it the second step in a row, with no way round, and nothing cleared or edited between?

    What was deposited between the two comes on top of what the first one has spent.
    """
    return any(_second_in_a_row(finding, run) for run in _straight_runs(program))


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


def _straight_runs(program: Program) -> Iterator[list[Event]]:
    """Events that follow on one another, whatever happens."""
    parts = program.parts if isinstance(program, Sequence) else (program,)
    run: list[Event] = []
    for part in parts:
        if isinstance(part, Do):
            run.append(part.event)
        elif not isinstance(part, Require | Forget):
            yield run
            run = []
            for piece in part.inner:
                yield from _straight_runs(piece)
    yield run


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


def _stepping(loop: Program) -> set[str]:
    """The optimizers that step in it."""
    return {event.optimizer for event in events_in(loop) if isinstance(event, Step)}


def _comes_between(at: Place, around: Program) -> bool:
    """Is it after a backward and before a step, in the order of the text?"""
    deposited = passed = False
    for event in events_in(around):
        deposited |= isinstance(event, Backward)
        passed |= deposited and event.at == at
        if passed and isinstance(event, Step):
            return True
    return False


def _unscaled_before(at: Place, around: Program) -> bool:
    """Does an unscale come between the last backward and it, in the order of the text?"""
    unscaled = False
    for event in events_in(around):
        if event.at == at:
            return unscaled
        unscaled |= isinstance(event, Unscale)
        unscaled &= not isinstance(event, Backward)
    return False


def _holds_deposits(finding: Finding, around: Program) -> bool:
    """Does a backward come before it, with no clear in between, in the order of the text?"""
    deposited = False
    for event in events_in(around):
        if event.at == finding.at:
            return deposited
        if isinstance(event, Clear):
            deposited &= event.cells.isdisjoint(finding.cells)
        deposited |= isinstance(event, Backward)
    return False


def _has_windows(around: Program) -> bool:
    """Does a counter close windows in it?"""
    return any(isinstance(piece, Tick) for piece in pieces(around))
