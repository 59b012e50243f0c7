"""The events of a path that a reader needs, in words, with the round that each is in."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.events import (
    Backward,
    Clear,
    Clip,
    Edit,
    EpochEnd,
    Event,
    Fault,
    Gone,
    Own,
    Read,
    RunEnd,
    Skipped,
    Step,
    Sync,
)
from gradledger.ledger.findings import Finding, WitnessStep
from gradledger.ledger.places import Place
from gradledger.plays.words import WORDS
from gradledger.static.ir.blocks import holds
from gradledger.static.ir.program import Do, Loop, Program
from gradledger.static.solve.witness import Happening, Rounds, Trail

MOVES = (Backward, Step, Clear, Edit, Skipped)
"""What happens to gradients: of the finding's own cells, all of that is told."""


def steps_of(trail: Trail, finding: Finding, given: frozenset[Place]) -> tuple[WitnessStep, ...]:
    """The path, without what has nothing to do with the finding.

    `given`: where optimizers come from outside. What they did before is no line of this code.
    """
    last = trail.happenings[-1]
    told = [
        happening
        for happening in trail.happenings
        if happening is last
        or (happening.event.at not in given and _matters(happening, finding, last.event))
    ]
    while len(told) > 1 and not _begins(told[0].event, finding):
        told.pop(0)
    varied = {id(loop) for happening in told for loop, number in happening.rounds if number > 1}
    steps: list[WitnessStep] = []
    for begun, happening in _numbered(told, varied):
        event = happening.event
        step = WitnessStep(_word(event), event.at, _when(happening.rounds, varied, begun))
        looks_again = isinstance(event, Read) and bool(steps) and steps[-1].at == event.at
        if not (looks_again or (steps and steps[-1] == step)):
            steps.append(step)
    return tuple(steps)


def _numbered(told: list[Happening], varied: set[int]) -> Iterator[tuple[bool, Happening]]:
    """Each with whether a round came before it."""
    begun = False
    for happening in told:
        yield begun, happening
        begun = begun or any(id(loop) in varied for loop, _ in happening.rounds)


def _word(event: Event) -> str:
    return "measured" if isinstance(event, Clip) and not event.changes else WORDS[type(event)]


def _matters(happening: Happening, finding: Finding, last: Event) -> bool:
    event = happening.event
    if type(event) not in WORDS:
        return False
    if isinstance(event, MOVES):
        return event.at in finding.places or _touches(happening, finding)
    if isinstance(event, Sync | Read | Own | RunEnd | Gone):
        return event.at == finding.at
    return event.at in finding.places or isinstance(event, type(last) | Fault)


def _touches(happening: Happening, finding: Finding) -> bool:
    """Does it happen to the cells that the finding is about?"""
    event, page, _ = happening
    if not finding.cells:
        return True
    match event:
        case Step():
            return any(names & finding.cells for names, _ in page.spent_by(event))
        case Skipped(optimizer=optimizer):
            return any(names & finding.cells for names, _ in page.owned_by(optimizer))
        case Backward(cells=cells) | Clear(cells=cells) | Edit(cells=cells):
            return bool(cells & finding.cells)
    return False


def _begins(event: Event, finding: Finding) -> bool:
    """Can the story begin with it? With a deposit or a clear, or where the finding stands."""
    return isinstance(event, Backward | Clear | Edit) or event.at == finding.at


def _when(rounds: Rounds, varied: set[int], begun: bool) -> str:
    """`iteration 2`, `epoch 2, iteration 1`: the rounds of those loops that go round."""
    said: list[str] = []
    units = iter(("iteration", "round"))
    for loop, number in rounds:
        if id(loop) in varied:
            unit = "epoch" if _is_epochs(loop) else next(units, "round")
            said.append(f"{unit} {number}")
    return ", ".join(said) or ("afterwards" if begun else "before" if varied else "")


def _is_epochs(loop: Loop) -> bool:
    """Does the data end in each of its rounds?"""
    return _ends_data(loop.body)


def _ends_data(program: Program) -> bool:
    if not holds(program, EpochEnd):
        return False
    match program:
        case Do(event):
            return isinstance(event, EpochEnd)
        case Loop():
            return False
        case _:
            return any(map(_ends_data, program.inner))
