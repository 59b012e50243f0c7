"""How well the code around a finding is understood."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from gradledger.ledger.events import (
    NO_CELLS,
    Backward,
    CellNames,
    Clear,
    Edit,
    Event,
    Own,
    Read,
    Step,
)
from gradledger.ledger.places import Place
from gradledger.static.ir.blocks import events_in, holds
from gradledger.static.ir.effects import HandsOver, Spends
from gradledger.static.ir.keys import Keys
from gradledger.static.ir.program import Do, Forget, Loop, Program, Require, Sequence
from gradledger.static.lower.missing_backward import optimizers_without_backward
from gradledger.static.lower.root import Root
from gradledger.static.lower.root_objects import contents_of, nets_apart


class Sight:
    """A program, the root that it was made of, and what is known of its optimizers."""

    def __init__(self, program: Program, root: Root, *, sees_all: bool) -> None:
        self.program = program
        self.root = root
        self.sees_all = sees_all
        """With several optimizers, nobody is sure that a backward did not reach one of them."""
        self.owned = {e.optimizer: e.cells for e in events_in(program) if isinstance(e, Own)}
        owned = list(self.owned.values())
        apart = sum(map(len, owned)) == len(frozenset().union(*owned))
        unseen = any(o.outside and o.keys is None for o in root.optimizers.values())
        spent = root.program is not None and holds(root.program, Spends, HandsOver)
        self.nobody_steps = bool(owned) and not spent
        self.all_known = bool(owned) and apart and not unseen
        """It is known who made each optimizer or whose parameters it has, and none share any."""
        self.all_made = all(o.keys and not o.outside for o in root.optimizers.values())
        """The code makes each optimizer itself, for nets that have names."""

    def around(self, at: Place) -> list[Program]:
        """The innermost loop that has a backward round each event at this place, or all there is.

        What goes round some optimizers is no loop of training.
        """
        return self._loops.get(at, [])

    @cached_property
    def _loops(self) -> dict[Place, list[Program]]:
        loops: dict[Place, list[Program]] = {}

        def note(program: Program, around: Program) -> None:
            if isinstance(program, Do):
                loops.setdefault(program.event.at, []).append(around)
            elif isinstance(program, Loop) and Backward in program.kinds:
                around = program
            for piece in program.inner:
                note(piece, around)

        note(self.program, self.program)
        return loops

    @cached_property
    def apart(self) -> Keys:
        """Nets of several optimizers that surely have nothing in common."""
        return nets_apart(self.root)

    @cached_property
    def contents(self) -> dict[str, Keys]:
        """For each object, what it holds under another name."""
        return contents_of(self.root)

    @cached_property
    def without_backward(self) -> Keys:
        """Optimizers of nets that nobody in sight ever walks back from."""
        return optimizers_without_backward(self.root)

    @cached_property
    def cleared_before_step(self) -> list[tuple[Place, Place]]:
        """Clears and steps in `loss.backward(); optimizer.zero_grad(); optimizer.step()`.

        With nothing in between. Whatever else there is, that step finds no gradient.
        """
        found = []
        for run in straight_runs(self.program):
            acts = [e for e in run if isinstance(e, Backward | Clear | Step | Read | Edit)]
            for before, clear, step in zip(acts, acts[1:], acts[2:], strict=False):
                if isinstance(clear, Clear) and isinstance(step, Step):
                    owned = self.owned.get(step.optimizer, NO_CELLS)
                    filled = isinstance(before, Backward) and not owned.isdisjoint(before.cells)
                    if filled and owned <= clear.cells:
                        found.append((clear.at, step.at))
        return found

    def tells_apart(self, cells: CellNames) -> bool:
        """Is there no doubt which backwards reach these cells, and which steps spend them?

        With several optimizers, only if all of their nets are made in sight, and none of another.
        """
        return len(self.owned) < 2 or (self.all_made and cells <= self.apart)

    def one_steps(self, at: Place) -> bool:
        """Is there one optimizer alone that steps in the loop around this place?"""
        return all(len(stepping(loop)) <= 1 for loop in self.around(at))


def stepping(loop: Program) -> set[str]:
    """The optimizers that step in it."""
    return {event.optimizer for event in events_in(loop) if isinstance(event, Step)}


def straight_runs(program: Program) -> Iterator[list[Event]]:
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
                yield from straight_runs(piece)
    yield run


def last_before(at: Place, around: Program, counts: Callable[[Event], bool]) -> Event | None:
    """The last event that counts ahead of this place, in the order of the text."""
    last = None
    for event in events_in(around):
        if event.at == at:
            break
        if counts(event):
            last = event
    return last
