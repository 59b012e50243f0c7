"""Which cells there are, whose they are, and which of them code means.

A cell here stands for the parameters of one model, or of one optimizer where nobody sees whose
parameters it has. A backward surely reaches a cell, surely does not, or may.
"""

from __future__ import annotations

from gradledger.ledger.events import NO_CELLS, CellNames, Event
from gradledger.static.domain.values import Optimizer
from gradledger.static.ir.effects import (
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
    TakesOver,
)
from gradledger.static.ir.keys import NO_KEYS, Keys, wholes_of, within

ALL = "parameters"
"""The one cell, where there is one optimizer and its parameters are not known."""


class Ownership:
    """The cells of a program, known once all of its effects are."""

    def __init__(
        self,
        effects: list[Event],
        optimizers: dict[str, Optimizer],
        strays: Keys,
        contents: dict[str, Keys],
        copies: Keys,
        losses: Keys,
    ) -> None:
        self._contents = contents
        self._deposits = [e for e in effects if isinstance(e, Deposits)]
        self.optimizers = _at_work(optimizers, effects)
        self.by_hand: CellNames = frozenset(
            k for e in effects if isinstance(e, Spends) and not e.optimizer for k in e.keys
        )
        """Cells that are stepped on without an optimizer."""
        self.single = len(self.optimizers) == 1 and not self.by_hand
        """There is one optimizer, so that no doubt is left which deposits a step can find."""
        self.owned: dict[str, CellNames] = {}
        """The cells of each optimizer."""
        self.unknown: set[str] = set()
        """Cells that stand for an optimizer whose parameters are not known."""
        self._share_out(effects)
        self._merge_like(effects)
        self.cells: CellNames = frozenset().union(*self.owned.values(), self.by_hand)
        """All that is owned."""
        self.leaves = self._leaves_among(effects)
        """Tensors that are no parameters, whose gradients the code looks at."""
        self.strays = self._ownerless(strays)
        """Models that nobody owns."""
        self._losses = losses
        self._apart = self._nets_apart(copies | self.strays, effects)
        self._never_free = self._always_frozen(effects)
        assigned = {
            k for e in effects if isinstance(e, Edits) and e.kind == "assign" for k in e.keys
        }
        self._is_filled_by_hand = any(within(c, k) for k in assigned for c in self.cells)
        """Code sets gradients of what is owned, and names it as the optimizer does."""

    def _share_out(self, effects: list[Event]) -> None:
        """Gives each optimizer its cells."""
        for name, optimizer in self.optimizers.items():
            if optimizer.keys is None:
                cell = ALL if self.single else f"parameters of {name}"
                self.owned[name] = frozenset({cell})
                self.unknown.add(cell)
            else:
                self.owned[name] = self._with_parts(optimizer.keys, effects)

    def _with_parts(self, keys: Keys, effects: list[Event]) -> frozenset[str]:
        """The keys, and parts of them that are cleared, clipped or owned on their own."""
        named = {
            k for e in effects if isinstance(e, Clears | Clips | Edits | Replaces) for k in e.keys
        }
        for other in self.optimizers.values():
            named |= other.keys or set()
        parts = {n for n in named if not keys.isdisjoint(wholes_of(n))}
        by_hand = {k for e in effects if isinstance(e, Clears) and not e.to_none for k in e.keys}
        # Who clears `model.weight.grad` and `model.bias.grad` by hand has named all there is.
        whole = keys & {w for part in parts & by_hand for w in wholes_of(part)}
        return (keys - whole - _in_parts(keys, effects)) | parts

    def _merge_like(self, effects: list[Event]) -> None:
        """Cells with the same owners, of which none is spoken of alone, are one."""
        if len(self.optimizers) < 2:
            return
        alone = {
            k for e in effects if isinstance(e, Clears | Clips | Edits | Reads) for k in e.keys
        }
        owners: dict[str, frozenset[str]] = {}
        for cell in frozenset().union(*self.owned.values()) - self.unknown:
            owners[cell] = frozenset(n for n, cells in self.owned.items() if cell in cells)
        kept: dict[tuple[frozenset[str], frozenset[str], frozenset[int]], str] = {}
        for cell in sorted(owners):
            spoken_of = frozenset(k for k in alone if within(k, cell) or within(cell, k))
            reached = frozenset(
                d.at.line for d in self._deposits if any(within(r, cell) for r in d.keys)
            )
            first = kept.setdefault((owners[cell], spoken_of, reached), cell)
            if first != cell:
                for name, cells in self.owned.items():
                    if cell in cells:
                        self.owned[name] = cells - {cell}

    def _leaves_among(self, effects: list[Event]) -> CellNames:
        return frozenset(
            k
            for e in effects
            if isinstance(e, Reads | Clears | Edits) and e.leaf
            for k in e.keys
            if not any(within(k, cell) or within(cell, k) for cell in self.cells)
        )

    def _ownerless(self, strays: Keys) -> CellNames:
        if self.unknown or self.by_hand:
            return NO_CELLS
        return frozenset(
            k
            for k in strays
            if not any(within(k, c) or within(c, k) for c in self.cells)
            and not any(within(k, c) for c in self.leaves)
        )

    def _nets_apart(self, nets: Keys, effects: list[Event]) -> Keys:
        """Nets that surely hold nothing that is owned, where others are trained."""
        if self.unknown or any(isinstance(e, Replaces) for e in effects):
            return NO_KEYS
        taken = frozenset().union(*(e.keys for e in effects if isinstance(e, TakesOver)))
        owned = self.cells | taken
        apart = frozenset(k for k in nets if not any(within(k, c) or within(c, k) for c in owned))
        others = any(not _all_within(d.keys - self._losses, apart) for d in self._deposits)
        return apart if others else NO_KEYS

    def _always_frozen(self, effects: list[Event]) -> CellNames:
        """Cells that seem frozen at each backward: who steps on them knows better."""
        always = [d.frozen for d in self._deposits]
        stepping = {e.optimizer for e in effects if isinstance(e, Spends | HandsOver)}
        stepped_on = (self.owned[name] for name in self.owned if name in stepping)
        return frozenset(
            c
            for c in self.by_hand.union(*stepped_on)
            if always and all(any(within(c, k) for k in f) for f in always)
        )

    # Which of them

    def reached(self, reach: Keys, perhaps: Keys) -> tuple[CellNames, CellNames]:
        """The cells that a backward surely reaches, and those that it may."""
        leaves = frozenset(
            c for c in self.leaves if any(within(r, c) or within(c, r) for r in reach)
        )
        if leaves and reach == leaves and not perhaps:
            return leaves, NO_CELLS
        sure, maybe = self._reached_owned(reach, perhaps)
        strays = frozenset(c for c in self.strays if any(within(r, c) for r in reach))
        return sure | leaves | strays, maybe

    def _reached_owned(self, reach: Keys, perhaps: Keys) -> tuple[CellNames, CellNames]:
        if _all_within((reach | perhaps) - self._losses, self._apart):
            return NO_CELLS, NO_CELLS
        if self.single:
            # One model may be made of others, by ways that nobody can trace.
            return self.cells, NO_CELLS
        sure, maybe = set(), set()
        closest = {self._closest(r) for r in reach}
        for cell in self.cells - self.unknown:
            if cell in closest:
                sure.add(cell)
            elif any(within(cell, r) or self._held(cell, r) for r in reach | perhaps) or any(
                within(r, cell) for r in perhaps
            ):
                maybe.add(cell)
        maybe |= self.unknown
        if len({n for n, cells in self.owned.items() if cells & maybe}) == 1 and not sure:
            return frozenset(maybe), NO_CELLS
        if not sure and not maybe:
            maybe = set(self.cells)
        return frozenset(sure), frozenset(maybe)

    def _closest(self, reached: str) -> str:
        """The cell of what is reached: its own, before that of what it is a part of."""
        around = (c for c in self.cells - self.unknown if within(reached, c))
        return max(around, key=len, default="")

    def _held(self, cell: str, owner: str) -> bool:
        """Is the cell that of something which the object holds?"""
        return any(within(cell, held) for held in self._contents.get(owner, ()))

    def named(self, effect: Effect) -> tuple[CellNames, CellNames]:
        """The cells that are surely meant, and those that may be."""
        if effect.optimizer:
            return self.owned.get(effect.optimizer, NO_CELLS), NO_CELLS
        leaves = effect.keys & self.leaves
        if leaves and effect.leaf:
            return leaves, NO_CELLS
        if effect.keys and effect.keys <= self.strays:
            return effect.keys, NO_CELLS
        if self.single:
            only = next(iter(self.owned.values()))
            if only & self.unknown:
                return only, NO_CELLS
            meant = frozenset(c for c in only if any(within(c, k) for k in effect.keys))
            if not meant and effect.keys and self._is_filled_by_hand:
                return NO_CELLS, NO_CELLS  # of the net that the gradients are handed over from
            # The only optimizer there is, and a name for its model that nobody can trace.
            return meant or only, NO_CELLS
        sure = frozenset(
            c for c in self.cells - self.unknown if any(within(c, k) for k in effect.keys)
        )
        return sure, (frozenset(self.unknown) if not sure else NO_CELLS)

    def frozen(self, keys: Keys) -> CellNames:
        """The cells that a backward leaves alone where these are frozen."""
        frozen = frozenset(c for c in self.cells | self.strays if any(within(c, k) for k in keys))
        for cells in self.owned.values():
            if cells <= frozen:
                frozen -= cells & self._never_free
        return frozen

    def renewed(self, effect: Renews) -> CellNames:
        """The cells that stand for something else from now on."""
        if effect.optimizer:
            return self.owned.get(effect.optimizer, NO_CELLS) & self.unknown
        return frozenset(
            c for c in self.cells | self.leaves if any(within(c, k) for k in effect.keys)
        )


def _at_work(optimizers: dict[str, Optimizer], effects: list[Event]) -> dict[str, Optimizer]:
    """The optimizers that do something here; if no one steps, those that are ours to step."""
    named = {
        e.optimizer
        for e in effects
        if isinstance(e, Effect) and e.optimizer
        if not isinstance(e, Excuses | Renews | Resumes)
    }
    known = {n: o for n, o in optimizers.items() if n in named}
    spending = {e.optimizer for e in effects if isinstance(e, Spends | HandsOver) and e.optimizer}
    if spending & known.keys():
        return known
    # Where nobody steps, what is deposited is for others, or for a look.
    from gradledger.static.lower.unspent_optimizers import cleared_alone

    return cleared_alone(known, effects)


def _all_within(keys: Keys, nets: Keys) -> bool:
    """Is each of the keys one of the nets, or a part of one?"""
    return bool(keys) and all(any(within(key, net) for net in nets) for key in keys)


def _in_parts(keys: Keys, effects: list[Event]) -> Keys:
    """What is cleared part by part: who names two parts or more has named all there is."""
    cleared = frozenset().union(*(e.keys for e in effects if isinstance(e, Clears)))
    return frozenset(
        key for key in keys if sum(within(part, key) and part != key for part in cleared) > 1
    )
