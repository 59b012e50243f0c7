"""Turns a program of effects into one of events, once all of the code has been walked.

`ownership` says which cells there are, `settling` what happens to them. Here the whole is put
together: what may have been before, and which questions are worth a name.
"""

from __future__ import annotations

from gradledger.ledger.events import Clear, Declare, Edit, Own, Step, Traits
from gradledger.ledger.values import replace
from gradledger.static.bind.events import Settling
from gradledger.static.bind.ownership import Ownership
from gradledger.static.domain.values import NO_PLACES, Optimizer, Places
from gradledger.static.ir import condition_names
from gradledger.static.ir.blocks import conditions_in, events_in, mapped, sequence
from gradledger.static.ir.condition_names import window_of
from gradledger.static.ir.dependence import (
    asked_anew,
    changing,
    decide_each_step,
    deciding,
    independent,
    only_left_out,
)
from gradledger.static.ir.effects import (
    Clears,
    Clips,
    Deposits,
    Edits,
    Reads,
    Spends,
    Unscales,
)
from gradledger.static.ir.keys import NO_KEYS, Keys
from gradledger.static.ir.program import NOTHING, Branch, Do, Forget, Loop, Program, Tick


class Binding:
    """A program of effects, and the one of events that it stands for."""

    def __init__(
        self,
        program: Program,
        optimizers: dict[str, Optimizer],
        condition_names: dict[str, set[str]],
        strays: Keys = NO_KEYS,
        contents: dict[str, Keys] | None = None,
        only_shown: Places = NO_PLACES,
        copies: Keys = NO_KEYS,
        losses: Keys = NO_KEYS,
    ) -> None:
        effects = list(events_in(program))
        self._program = program
        self._conditions = condition_names
        self._deposits = [e for e in effects if isinstance(e, Deposits)]
        self._own = Ownership(effects, optimizers, strays, contents or {}, copies, losses)
        self._settling = Settling(program, self._own, only_shown)
        self._used = conditions_in(program)
        self._deciding = deciding(program)
        """Conditions on which an event depends, and not just whether a loop goes on."""
        scaled = any(d.scaled_if for d in self._deposits)
        self._for_steps = decide_each_step(program) if scaled else set()

    @property
    def options(self) -> set[str]:
        """Conditions that hold for a whole run."""
        names = changing(self._program)
        texts = {t for name in names for t in self._conditions.get(name, ())} | names
        left_out = only_left_out(self._program)
        return {
            c
            for c in self._used - texts - left_out
            if " reaches " not in c and " are those " not in c
        }

    @property
    def sees_all(self) -> bool:
        """Is there no doubt which deposits a step can find?"""
        return self._own.single

    @property
    def worth_following(self) -> bool:
        """Is there a deposit, and somebody to spend it?"""
        divides = any(d.weight.framework_divides for d in self._deposits)
        return bool(self._deposits and self._own.cells) or divides

    def program(self) -> Program:
        """The program with events for effects, from an unknown past where that is so."""
        return independent(sequence([*self._prologue(), *self._past(), self._bound(self._program)]))

    def _prologue(self) -> list[Program]:
        """Whose cells there are, before anything happens to them."""
        own = self._own
        prologue: list[Program] = []
        if own.cells:
            makers = (optimizer.made_at for optimizer in own.optimizers.values())
            at = next(makers, None) or self._deposits[0].at
            tensors = Traits(parameter=False)
            prologue.append(Do(Declare(at, own.cells, Traits())))
            for name, optimizer in own.optimizers.items():
                if optimizer.tensors:
                    prologue.append(Do(Declare(at, own.owned[name], tensors)))
            if own.strays:
                prologue.append(Do(Declare(at, own.strays, Traits())))
            if own.leaves:
                prologue.append(Do(Declare(at, own.leaves, tensors)))
        for name, optimizer in own.optimizers.items():
            prologue.append(Do(Own(optimizer.made_at, name, own.owned[name])))
        return prologue

    def _past(self) -> list[Program]:
        """What may have happened before, to optimizers that come from outside."""
        outside = [n for n, o in self._own.optimizers.items() if o.outside]
        if not outside:
            return []
        cells = frozenset(c for n in outside for c in self._own.owned[n])
        at = self._own.optimizers[outside[0]].made_at
        stepped = [Do(Edit(at, cells, "assign"))]
        stepped += [Do(Step(at, n)) for n in outside]
        stepped += [Do(Clear(at, cells))]
        past: Program = sequence(stepped)
        if self._begins_in_the_middle():
            past = Branch(past, Do(Edit(at, cells, "assign")), None)
        return [Branch(past, NOTHING, None)]

    def _begins_in_the_middle(self) -> bool:
        """Is the first thing that happens a step or a clip, of what was deposited elsewhere?"""
        for event in events_in(self._program):
            if isinstance(event, Deposits | Clears):
                return False
            if isinstance(event, Spends | Clips | Unscales | Edits | Reads):
                return True
        return False

    def _bound(self, program: Program) -> Program:
        match program:
            case Do(Deposits(scaled_if=(condition, answer, scaler)) as event) if (
                condition in self._for_steps
            ):
                plain, scaled = map(self._settling.settled, (event, replace(event, scaler=scaler)))
                return Branch(*((scaled, plain) if answer else (plain, scaled)), condition)
            case Do(event):
                return self._settling.settled(event)
            case Branch(then, orelse, condition):
                named = condition if condition in self._deciding else None
                return Branch(self._bound(then), self._bound(orelse), named)
            case Loop(body, at_least, last, first, ran_out):
                bound = self._bound(body)
                last = last if last in self._used else None
                first = first if first in self._used else None
                ran_out = ran_out if ran_out in self._used else None
                if first and last:  # who tells them apart has more than one batch
                    at_least = max(at_least, 2)
                return Loop(bound, at_least, last, first, ran_out, asked_anew(bound))
            case Forget(name):
                texts = self._conditions.get(name, set()) | {name}
                forgotten = {text for text in texts if text in self._used}
                if (window := window_of(name)) is not None:
                    # Of a window that is left, no place is remembered.
                    forgotten |= {condition_names.starts(window), condition_names.ends(window)}
                return sequence(map(Forget, sorted(forgotten)))
            case Tick(starts, ends):
                return program if {starts, ends} & self._deciding else NOTHING
            case _:
                return mapped(program, self._bound)
