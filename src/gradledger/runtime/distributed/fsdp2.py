"""Watches FSDP2 (`fully_shard`): what a pass deposits, and what waits outside of `.grad`.

The graph ends in whole ("unsharded") parameters that FSDP2 puts together for a forward. Behind each
of its groups a pass either reduces their gradients over the ranks into the `.grad` of the shards,
or, without gradient sync, leaves them where no optimizer looks.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from typing import Any

from torch import Tensor

from gradledger.ledger.events import NO_CELLS, CellNames, Sync
from gradledger.ledger.places import Place
from gradledger.runtime.distributed.fsdp1 import FlatSharded
from gradledger.runtime.journal.cells import WAITS, Slots, State, grad_of, state_of, whole_of
from gradledger.runtime.journal.crash_guard import unfailing
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Function, Patches
from gradledger.runtime.tensors.dtensors import has_visible_parts, local_part, version

MODULE = "torch.distributed.fsdp._fully_shard._fsdp_param_group"
"""Loaded by `torch.distributed.fsdp`. All private names of FSDP2 that are used stand here."""
GROUP, METHODS = "FSDPParamGroup", ("pre_forward", "post_backward")
MEMBERS = "fsdp_params"
PARTIAL = "_partial_reduce_output"
"""HSDP: what was reduced inside the groups of shards, and not yet between them."""
SHARDED, WHOLE, KEPT = "sharded_param", "_unsharded_param", "unsharded_accumulated_grad"
"""Of a member: the optimizer's parameter, the graph's, and gradients kept in another precision."""

UNKNOWN = "sharded by a version of torch whose shards gradledger does not know"


class FullySharded:
    """Tells which shards a pass deposited into, and which deposits no step can reach yet."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.deposits: set[int] = set()
        """The slots that the pass at hand has deposited into, as far as that was not told."""
        self.exchanges = False
        """Whether they lie on several ranks, and not on a mesh of one."""
        self._groups: weakref.WeakSet[Any] = weakref.WeakSet()
        self._members: dict[int, weakref.ref[Any]] = {}
        """By slot. Empty where nothing is sharded by FSDP2."""
        self._left: dict[int, State] = {}
        """By slot, what the whole gradient looked like that was left unreduced."""
        self._partial: set[int] = set()
        self._wholes: set[int] = set()
        """The slots of whole parameters, which the program may get from its model: no cells."""
        self._begun = False
        self._blind = False
        self.flat = FlatSharded(journal)
        self.taken: set[int] = set()
        """Slots whose gradients go into another library's buffers at once (ZeRO)."""
        journal.cells.part = self.part

    def watch(self, patches: Patches) -> None:
        """Audit FSDP2 until the patches are closed, from when it is imported."""
        self._patches = patches
        self.journal.imported.append(self._begin_if_loaded)
        self.journal.met.append(self._met)
        self.journal.buried.append(self._forget)
        self._begin_if_loaded()

    def _begin_if_loaded(self) -> None:
        if not self.flat.begin_if_loaded(self._patches):
            self.journal.not_seen("deposits", UNKNOWN)
        module = None if self._begun else sys.modules.get(MODULE)
        if module is None:
            if not self._begun and MODULE.rpartition("._fully")[0] in sys.modules:
                self._blind = True
            return
        self._begun = True
        group = getattr(module, GROUP, None)
        self._blind = not all(hasattr(group, name) for name in METHODS)
        if not self._blind:
            self._patches.around(group, METHODS[0], self._around_pre_forward)
            self._patches.around(group, METHODS[1], self._around_post_backward)

    def _met(self, slots: list[int]) -> None:
        """Of a DTensor that can't be looked into, deposits after the first are not seen."""
        cells = self.journal.cells
        for slot in cells.parts.intersection(slots):
            leaf = cells.leaf(slot)
            if leaf is not None and (self._blind or not has_visible_parts(leaf)):
                self.journal.not_seen("deposits", UNKNOWN, names=[cells.names[slot]])

    def _forget(self, slots: list[int]) -> None:
        self.flat.forget(slots)
        self.taken.difference_update(slots)
        for slot in slots:
            self._members.pop(slot, None)
            self._left.pop(slot, None)
            self._partial.discard(slot)
            self._wholes.discard(slot)

    # What FSDP2 does

    def _around_pre_forward(self, real: Function) -> Function:
        def pre_forward(group: Any, *args: Any, **kwargs: Any) -> Any:
            result = real(group, *args, **kwargs)
            if not self.journal.asleep:
                self._register(group)
            return result

        return pre_forward

    def _around_post_backward(self, real: Function) -> Function:
        def post_backward(group: Any, *args: Any, **kwargs: Any) -> Any:
            if self.journal.asleep:
                return real(group, *args, **kwargs)
            self._arrives(group)
            result = real(group, *args, **kwargs)
            self._leaves_behind(group)
            return result

        return post_backward

    @unfailing
    def _register(self, group: Any) -> None:
        slot_of = self.journal.cells.slot
        self._groups.add(group)
        for member in getattr(group, MEMBERS):
            slot = slot_of(getattr(member, SHARDED))
            if slot is not None:
                known = self._members.get(slot)
                if known is None or known() is not member:
                    self._members[slot] = weakref.ref(member)
            whole = getattr(member, WHOLE, None)
            if whole is not None and (slot := slot_of(whole)) is not None:
                self._wholes.add(slot)

    @unfailing
    def _arrives(self, group: Any) -> None:
        """A pass has gone through the group's parameters: which of them did it reach?"""
        journal, cells = self.journal, self.journal.cells
        with journal.entering:
            leaves = [getattr(member, SHARDED) for member in getattr(group, MEMBERS)]
            if any(cells.slot(leaf) is None for leaf in leaves if leaf.requires_grad):
                journal.meet([leaf for leaf in leaves if leaf.requires_grad], journal.places.last)
            self._register(group)
            for member, leaf in zip(getattr(group, MEMBERS), leaves, strict=True):
                slot, state = cells.slot(leaf), _whole_state(member)
                if slot is not None and state is not None and state != self._left.get(slot):
                    self.deposits.add(slot)
                    self.exchanges = self.exchanges or _is_shared(group)

    @unfailing
    def _leaves_behind(self, group: Any) -> None:
        cells, partial = self.journal.cells, getattr(group, PARTIAL, None) is not None
        for member in getattr(group, MEMBERS):
            slot = cells.slot(getattr(member, SHARDED))
            if slot is None:
                continue
            if (state := _whole_state(member)) is None:
                self._left.pop(slot, None)
            else:
                self._left[slot] = state
            if not partial:
                self._partial.discard(slot)
            elif slot in self.deposits:
                self._partial.add(slot)

    # What others ask

    @property
    def present(self) -> bool:
        """Whether anything is sharded by FSDP or ZeRO."""
        return bool(self._members or self.flat.handles or self.taken)

    def begin(self) -> None:
        """A pass begins."""
        self.deposits.clear()
        self.flat.deposits.clear()
        self.exchanges = False
        for slot in list(self._left):
            # It may have been cleared, and another gradient may look like the old one.
            self._left[slot] = _whole_state(self._member(slot))

    def owners(self, leaves: list[Tensor]) -> list[Tensor]:
        """The same leaves, with the shards in the place of the whole parameters made of them."""
        shards = self.flat.owners() | {
            id(getattr(member, WHOLE, None)): [getattr(member, SHARDED)]
            for group in self._groups
            for member in getattr(group, MEMBERS)
        }
        if not shards:
            return leaves
        found = [owner for leaf in leaves for owner in shards.get(id(leaf), [leaf])]
        return list({id(leaf): leaf for leaf in found}.values())

    def deposited(self, slots: Iterable[int]) -> Slots:
        """Of these, which look changed, those that are not FSDP's; and what it deposited into."""
        if self.flat.deposits:
            self.deposits |= self.flat.deposits
            self.flat.deposits.clear()
            self.exchanges = True
        flat = self.flat
        others = set(slots).difference(self._members, self._wholes, flat.handles, flat.flats)
        others -= self.taken
        return tuple(sorted(others | self.deposits))

    def part(self, slot: int, grad: Tensor | None) -> tuple[Tensor | None, State]:
        """What there is of a gradient on this rank, or else what waits to be reduced."""
        if slot in self.flat.handles:
            return self.flat.part(slot, grad)
        if slot in self.taken:
            return grad, (WAITS, 0)
        waiting = self.waiting(slot)
        if waiting is None:
            return whole_of(slot, grad)
        state = (WAITS, version(waiting)) if grad is None else state_of(grad)
        return local_part(waiting), state

    def waiting(self, slot: int) -> Tensor | None:
        """A gradient, not yet reduced, that waits where no optimizer finds it."""
        member = self._member(slot)
        if member is None:
            return None
        kept: Tensor | None = getattr(member, KEPT, None)
        if kept is None:
            kept = _whole_gradient(member)
        if kept is None and slot in self._partial:
            for group in self._groups:
                if any(each is member for each in getattr(group, MEMBERS)):
                    kept = getattr(group, PARTIAL, None)
        return kept

    def unreduced(self, slots: Iterable[int]) -> CellNames:
        """Of these, the cells that hold nothing but what waits: a step does not find it."""
        if not self._members:
            return NO_CELLS
        cells = self.journal.cells
        return frozenset(
            cells.names[slot]
            for slot in slots
            if (leaf := cells.leaf(slot)) is not None
            and grad_of(leaf) is None
            and self.waiting(slot) is not None
        )

    def after(self, at: Place, slots: Slots, *, partial: bool) -> None:
        """A pass was told that FSDP2 had a part in: what does not wait was averaged."""
        self.deposits.clear()
        if partial or not self.exchanges:
            return
        names = self.journal.cells.names
        averaged = frozenset(
            names[slot]
            for slot in slots
            if slot not in self.flat.local and self.waiting(slot) is None
        )
        if averaged:
            self.journal.post(self.journal.made(Sync, at, averaged))

    def _member(self, slot: int) -> Any:
        known = self._members.get(slot)
        return None if known is None else known()


def _is_shared(group: Any) -> bool:
    """Whether its parameters are spread over several ranks."""
    mesh = getattr(getattr(group, "mesh_info", None), "mesh", None)
    return mesh is None or bool(mesh.size() > 1)


def _whole_gradient(member: Any) -> Tensor | None:
    whole = getattr(member, WHOLE, None)
    return None if whole is None else grad_of(whole)


def _whole_state(member: Any) -> State:
    return state_of(None if member is None else _whole_gradient(member))
