"""Gives the effects of code their cells, once all optimizers are known.

A cell here stands for the parameters of one model, or of one optimizer where nobody sees whose
parameters it has. A backward surely reaches a cell, surely does not, or may: then both ways are
followed, the same one in every round.
"""

from __future__ import annotations

from gradledger.ledger.events import (
    BY_HAND,
    NO_CELLS,
    Backward,
    CellNames,
    Clear,
    Clip,
    Declare,
    Edit,
    Event,
    Own,
    Read,
    Replace,
    Schedule,
    Step,
    Sync,
    Traits,
    Unscale,
    Update,
)
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.lowering import rounds
from gradledger.static.lowering.blocks import conditions_in, events_in, sequence
from gradledger.static.lowering.dependence import (
    asked_anew,
    changing,
    deciding,
    only_left_out,
    primers,
    thrown_away,
)
from gradledger.static.lowering.effects import (
    Clears,
    Clips,
    Deposits,
    Edits,
    Effect,
    Excuses,
    HandsOver,
    Reads,
    Renews,
    Replaces,
    Resumes,
    Spends,
    Unscales,
)
from gradledger.static.lowering.forgetting import independent
from gradledger.static.lowering.rounds import window_of
from gradledger.static.lowering.values import NO_KEYS, Keys, Optimizer, within
from gradledger.static.program import (
    NOTHING,
    Branch,
    Call,
    Do,
    Forget,
    Loop,
    Program,
    Require,
    Sequence,
    Tick,
    Try,
)

ALL = "parameters"
"""The one cell, where there is one optimizer and its parameters are not known."""

MOST_GUESSES = 3
"""So many cells may or may not be reached by one backward; more is unknown."""


class TooManyOwners(Exception):
    """There are more optimizers with unknown parameters than can be followed."""


class Binding:
    """The cells of a program, and its events."""

    def __init__(
        self,
        program: Program,
        optimizers: dict[str, Optimizer],
        condition_names: dict[str, set[str]],
        strays: Keys = NO_KEYS,
        contents: dict[str, Keys] | None = None,
    ) -> None:
        self._contents = contents or {}
        self._conditions = condition_names
        effects = list(events_in(program))
        self._deposits = [e for e in effects if isinstance(e, Deposits)]
        named = {
            e.optimizer
            for e in effects
            if isinstance(e, Effect) and e.optimizer
            if not isinstance(e, Excuses | Renews | Resumes)
        }
        self._optimizers = {n: o for n, o in optimizers.items() if n in named}
        spending = {
            e.optimizer for e in effects if isinstance(e, Spends | HandsOver) and e.optimizer
        }
        if not spending & self._optimizers.keys():
            # Nobody steps: what is deposited here is for others, or for a look.
            self._optimizers = {}
        self._spent = {e.optimizer for e in effects if isinstance(e, Spends) and e.optimizer}
        by_hand = frozenset(
            k for e in effects if isinstance(e, Spends) and not e.optimizer for k in e.keys
        )
        self._owned: dict[str, frozenset[str]] = {}
        """The cells of each optimizer."""
        self._unknown: set[str] = set()
        """Cells that stand for an optimizer whose parameters are not known."""
        self._single = len(self._optimizers) == 1 and not by_hand
        for name, optimizer in self._optimizers.items():
            if optimizer.keys is None:
                cell = ALL if self._single else f"parameters of {name}"
                self._owned[name] = frozenset({cell})
                self._unknown.add(cell)
            else:
                self._owned[name] = self._with_parts(optimizer.keys, effects)
        self._merge_like(effects)
        self._by_hand = by_hand
        owned = frozenset().union(*self._owned.values(), by_hand)
        self._leaves: CellNames = frozenset(
            k
            for e in effects
            if isinstance(e, Reads | Clears | Edits) and e.leaf
            for k in e.keys
            if not any(within(k, cell) or within(cell, k) for cell in owned)
        )
        """Tensors that are no parameters, whose gradients the code looks at."""
        self._cells: CellNames = owned
        self._strays: CellNames = NO_CELLS
        if not self._unknown and not by_hand:
            self._strays = frozenset(
                k
                for k in strays
                if not any(within(k, c) or within(c, k) for c in owned)
                and not any(within(k, c) for c in self._leaves)
            )
        """Models that nobody owns."""
        self._program = program
        self._thrown_away = thrown_away(program)
        """Clears by which code drops what it has just computed, and means to."""
        self._primers = primers(program)
        self._used = conditions_in(program)
        self._deciding = deciding(program)
        """Conditions on which an event depends, and not just whether a loop goes on."""
        always = [d.frozen for d in self._deposits]
        self._never_free = frozenset(
            c for c in owned if always and all(any(within(c, k) for k in f) for f in always)
        )
        """Cells that seem frozen at each backward: who steps on them knows better."""

    def _merge_like(self, effects: list[Event]) -> None:
        """Cells with the same owners, of which none is spoken of alone, are one."""
        if len(self._optimizers) < 2:
            return
        alone = {
            k for e in effects if isinstance(e, Clears | Clips | Edits | Reads) for k in e.keys
        }
        owners: dict[str, frozenset[str]] = {}
        for cell in frozenset().union(*self._owned.values()) - self._unknown:
            owners[cell] = frozenset(n for n, cells in self._owned.items() if cell in cells)
        kept: dict[tuple[frozenset[str], frozenset[str]], str] = {}
        for cell in sorted(owners):
            spoken_of = frozenset(k for k in alone if within(k, cell) or within(cell, k))
            reached = frozenset(
                d.at.line for d in self._deposits if any(within(r, cell) for r in d.keys)
            )
            first = kept.setdefault((owners[cell], spoken_of, reached), cell)  # type: ignore[arg-type]
            if first != cell:
                for name, cells in self._owned.items():
                    if cell in cells:
                        self._owned[name] = cells - {cell}

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
        return self._single

    @property
    def worth_following(self) -> bool:
        """Is there a deposit, and somebody to spend it?"""
        divides = any(d.weight.framework_divides for d in self._deposits)
        return bool(self._deposits and self._cells) or divides

    def program(self) -> Program:
        """The program with events for effects, from an unknown past where that is so."""
        prologue: list[Program] = []
        if self._cells:
            at = self._deposits[0].at
            if self._optimizers:
                at = next(iter(self._optimizers.values())).made_at
            prologue.append(Do(Declare(at, self._cells, Traits())))
            for name, optimizer in self._optimizers.items():
                if optimizer.tensors:
                    tensors = Traits(parameter=False)
                    prologue.append(Do(Declare(at, self._owned[name], tensors)))
        if self._strays and self._cells:
            prologue.append(Do(Declare(at, self._strays, Traits())))
        if self._leaves and self._cells:
            prologue.append(Do(Declare(at, self._leaves, Traits(parameter=False))))
        for name, optimizer in self._optimizers.items():
            prologue.append(Do(Own(optimizer.made_at, name, self._owned[name])))
        prologue += self._past()
        return independent(sequence([*prologue, self._bound(self._program)]))

    def _past(self) -> list[Program]:
        """What may have happened before, to optimizers that come from outside."""
        outside = [n for n, o in self._optimizers.items() if o.outside]
        if not outside:
            return []
        cells = frozenset(c for n in outside for c in self._owned[n])
        at = self._optimizers[outside[0]].made_at
        stepped = [Do(Edit(at, cells, "assign"))]
        stepped += [Do(Step(at, n)) for n in outside]
        stepped += [Do(Clear(at, cells))]
        past: Program = sequence(stepped)
        if self._begins_in_the_middle(set(outside)):
            past = Branch(past, Do(Edit(at, cells, "assign")), None)
        return [Branch(past, NOTHING, None)]

    def _begins_in_the_middle(self, outside: set[str]) -> bool:
        """Is the first thing that happens a step or a clip, of what was deposited elsewhere?"""
        for event in events_in(self._program):
            if isinstance(event, Deposits | Clears):
                return False
            if isinstance(event, Spends | Clips | Unscales | Edits | Reads):
                return True
        return False

    def _with_parts(self, keys: Keys, effects: list[Event]) -> frozenset[str]:
        """The keys, and parts of them that are cleared, clipped or owned on their own."""
        named = {
            k for e in effects if isinstance(e, Clears | Clips | Edits | Replaces) for k in e.keys
        }
        for other in self._optimizers.values():
            named |= other.keys or set()
        parts = {n for n in named if any(within(n, k) and n != k for k in keys)}
        by_hand = {k for e in effects if isinstance(e, Clears) and not e.to_none for k in e.keys}
        # Who clears `model.weight.grad` and `model.bias.grad` by hand has named all there is.
        whole = {k for k in keys if any(within(p, k) and p != k for p in parts & by_hand)}
        return (keys - whole - _in_parts(keys, effects)) | parts

    # Which cells

    def _reached(self, reach: Keys, perhaps: Keys) -> tuple[CellNames, CellNames]:
        """The cells that a backward surely reaches, and those that it may."""
        leaves = frozenset(
            c for c in self._leaves if any(within(r, c) or within(c, r) for r in reach)
        )
        if leaves and reach == leaves and not perhaps:
            return leaves, NO_CELLS
        sure, maybe = self._reached_owned(reach, perhaps)
        strays = frozenset(c for c in self._strays if any(within(r, c) for r in reach))
        return sure | leaves | strays, maybe

    def _reached_owned(self, reach: Keys, perhaps: Keys) -> tuple[CellNames, CellNames]:
        if self._single:
            # One model may be made of others, by ways that nobody can trace.
            return self._cells, NO_CELLS
        sure, maybe = set(), set()
        closest = {self._closest(r) for r in reach}
        for cell in self._cells - self._unknown:
            if cell in closest:
                sure.add(cell)
            elif any(within(cell, r) or self._held(cell, r) for r in reach | perhaps) or any(
                within(r, cell) for r in perhaps
            ):
                maybe.add(cell)
        maybe |= self._unknown
        if len({n for n, cells in self._owned.items() if cells & maybe}) == 1 and not sure:
            return frozenset(maybe), NO_CELLS
        if not sure and not maybe:
            maybe = set(self._cells)
        return frozenset(sure), frozenset(maybe)

    def _closest(self, reached: str) -> str:
        """The cell of what is reached: its own, before that of what it is a part of."""
        around = (c for c in self._cells - self._unknown if within(reached, c))
        return max(around, key=len, default="")

    def _held(self, cell: str, owner: str) -> bool:
        """Is the cell that of something which the object holds?"""
        return any(within(cell, held) for held in self._contents.get(owner, ()))

    def _named(self, effect: Effect) -> tuple[CellNames, CellNames]:
        """The cells that are surely meant, and those that may be."""
        if effect.optimizer:
            return self._owned.get(effect.optimizer, NO_CELLS), NO_CELLS
        leaves = effect.keys & self._leaves
        if leaves and effect.leaf:
            return leaves, NO_CELLS
        if self._single:
            only = next(iter(self._owned.values()))
            if only & self._unknown:
                return only, NO_CELLS
            meant = frozenset(c for c in only if any(within(c, k) for k in effect.keys))
            # The only optimizer there is, and a name for its model that nobody can trace.
            return meant or only, NO_CELLS
        sure = frozenset(
            c for c in self._cells - self._unknown if any(within(c, k) for k in effect.keys)
        )
        return sure, (frozenset(self._unknown) if not sure else NO_CELLS)

    # Programs

    def _bound(self, program: Program) -> Program:
        match program:
            case Do(event):
                return self._event(event)
            case Sequence(parts):
                return sequence(self._bound(part) for part in parts)
            case Branch(then, orelse, condition):
                named = condition if condition in self._deciding else None
                return Branch(self._bound(then), self._bound(orelse), named)
            case Loop(body, at_least, last, first, ran_out):
                bound = self._bound(body)
                last = last if last in self._used else None
                first = first if first in self._used else None
                ran_out = ran_out if ran_out in self._used else None
                return Loop(bound, at_least, last, first, ran_out, asked_anew(bound))
            case Call(body, left_by):
                return Call(self._bound(body), left_by)
            case Try(body, handler, fault):
                return Try(self._bound(body), self._bound(handler), fault)
            case Forget(name):
                texts = self._conditions.get(name, set()) | {name}
                forgotten = {text for text in texts if text in self._used}
                if (window := window_of(name)) is not None:
                    # Of a window that is left, no place is remembered.
                    forgotten |= {rounds.starts(window), rounds.ends(window)}
                return sequence(map(Forget, sorted(forgotten)))
            case Tick(starts, ends):
                return program if {starts, ends} & self._deciding else NOTHING
            case _:
                return program

    def _event(self, event: Event) -> Program:
        match event:
            case Deposits():
                return self._deposit(event)
            case Spends():
                return self._spend(event)
            case Clears():
                return self._clear(event)
            case Clips():
                cells, _ = self._named(event)
                return Do(Clip(event.at, cells, event.changes)) if cells else NOTHING
            case Edits():
                cells, maybe = self._named(event)
                if cells:
                    return Do(Edit(event.at, cells, event.kind, event.factor))
                return Do(Edit(event.at, maybe, "change")) if maybe else NOTHING
            case Reads():
                cells, maybe = self._named(event)
                if not event.optimizer and cells <= self._leaves:
                    maybe = self._cells  # nobody knows whose it is: it may be anybody's
                needed = event.needed and not self._vague(event)
                sure = Do(Read(event.at, cells, needed)) if cells else NOTHING
                return sequence([sure, Do(Read(event.at, maybe))]) if maybe else sure
            case Unscales():
                return Do(Unscale(event.at, event.optimizer, event.scaler))
            case Renews():
                cells = frozenset(
                    c for c in self._cells | self._leaves if any(within(c, k) for k in event.keys)
                )
                if event.optimizer:
                    cells = self._owned.get(event.optimizer, NO_CELLS) & self._unknown
                return (
                    sequence([Do(Read(event.at, cells)), Do(Clear(event.at, cells))])
                    if (cells)
                    else NOTHING
                )
            case Resumes():
                stepped = Step(event.at, event.optimizer, NO_CELLS)
                return Do(stepped) if event.optimizer in self._optimizers else NOTHING
            case Replaces():
                return Do(Replace(event.at, event.keys & self._cells))
            case Excuses():
                everybody = not event.keys and not event.optimizer
                cells = self._cells if everybody else self._named(event)[0]
                return Do(Read(event.at, cells)) if cells else NOTHING
            case HandsOver():
                return self._hand_over(event)
            case Schedule():
                return Do(event) if event.optimizer in self._optimizers else NOTHING
            case Update():
                return Do(event)
            case _:
                return Do(event)

    def _vague(self, event: Effect) -> bool:
        """Is it a guess that these cells are meant?"""
        return bool(self._unknown)

    def _deposit(self, event: Deposits) -> Program:
        sure, maybe = self._reached(event.keys, event.maybe)
        frozen = frozenset(
            c for c in self._cells | self._strays if any(within(c, k) for k in event.frozen)
        )
        for cells in self._owned.values():
            if cells <= frozen:
                frozen -= cells & self._never_free
        sure, maybe = sure - frozen, maybe - frozen
        if len(maybe) > MOST_GUESSES:
            raise TooManyOwners
        return self._guessed(event, sure, sorted(maybe), sure)

    def _guessed(
        self, event: Deposits, sure: CellNames, maybe: list[str], averaged: CellNames
    ) -> Program:
        if not maybe:
            if not sure and not event.weight.framework_divides:
                return NOTHING
            if sure != averaged:
                # Whether ranks average what is only guessed to be reached is one guess too many.
                event = replace(event, local=None)
            backward = Backward(
                event.at,
                sure,
                event.weight,
                event.scaler,
                local=event.local is not None,
                retain_graph=event.retains and len(self._deposits) == 1,
                walks=event.walks,
            )
            if event.local is False:
                return sequence([Do(backward), Do(Sync(event.at, sure))])
            return Do(backward)
        cell, rest = maybe[0], maybe[1:]
        condition = f"{_called_from(event.at)} reaches {cell}"
        reached = self._guessed(event, sure | {cell}, rest, averaged)
        return Branch(reached, self._guessed(event, sure, rest, averaged), condition)

    def _spend(self, event: Spends) -> Program:
        if not event.optimizer:
            cells = frozenset(c for c in self._by_hand if any(within(c, k) for k in event.keys))
            return Do(Step(event.at, BY_HAND, cells)) if cells else NOTHING
        if id(event) in self._primers and not self._optimizers[event.optimizer].outside:
            return Do(Step(event.at, event.optimizer, NO_CELLS))
        step = Do(Step(event.at, event.optimizer, scaler=event.scaler))
        if self._single:
            return step
        # Who steps is reached by some backward: that much is sure, whatever else is not.
        return sequence([Require(self._owned[event.optimizer]), step])

    def _clear(self, event: Clears) -> Program:
        cells, maybe = self._named(event)
        if not cells | maybe:
            return Do(Clear(event.at, NO_CELLS))  # of what, nobody knows
        parts: list[Program] = []
        if cells and id(event) in self._thrown_away:
            parts.append(Do(Read(event.at, cells)))
        if cells:
            if event.needed and not self._vague(event):
                parts.append(Do(Read(event.at, cells, needed=True)))
            parts.append(Do(Clear(event.at, cells, event.to_none)))
        for cell in sorted(maybe):
            condition = f"{cell} are those of {', '.join(sorted(event.keys))}"
            parts.append(
                Branch(Do(Clear(event.at, frozenset({cell}), event.to_none)), NOTHING, condition)
            )
        return sequence(parts)

    def _hand_over(self, event: HandsOver) -> Program:
        if not event.optimizer:
            return sequence(
                self._hand_over(replace(event, optimizer=name)) for name in self._optimizers
            )
        cells = self._owned.get(event.optimizer, NO_CELLS)
        if not cells:
            return NOTHING
        return sequence(
            [
                Do(Read(event.at, cells)),
                Branch(
                    Do(Clear(event.at, cells)),
                    Branch(Do(Edit(event.at, cells, "assign")), self._strange_step(event), None),
                    None,
                ),
            ]
        )

    def _strange_step(self, event: HandsOver) -> Program:
        """Somebody else may have stepped and cleared, or done nothing."""
        cells = self._owned[event.optimizer]
        stepped = [
            Do(Edit(event.at, cells, "assign")),
            Do(Step(event.at, event.optimizer)),
            Do(Clear(event.at, cells)),
        ]
        return Branch(sequence(stepped), NOTHING, None)


def _in_parts(keys: Keys, effects: list[Event]) -> Keys:
    """What is cleared part by part: who names two parts or more has named all there is."""
    cleared = frozenset().union(*(e.keys for e in effects if isinstance(e, Clears)))
    return frozenset(
        key for key in keys if sum(within(part, key) and part != key for part in cleared) > 1
    )


def _called_from(at: Place | None) -> str:
    """A place, and all calls on the way to it: what one call does, another need not."""
    return "" if at is None else f"{at} {_called_from(at.via)}"
