"""Which parameters are packed, which are not, and why."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from torch import Tensor
from torch.optim import Optimizer

from gradledger.engine.cells import Cells
from gradledger.engine.ownership import Group, Ownership
from gradledger.engine.packable import Memory, likeness, why_loose
from gradledger.engine.packs import Pack

PACK = 2**17
"""Elements in one pack. More fall out of the cache between the passes of a step; and it is what
`torch.save` of a single member takes along."""

ALONE = "there is no other like it to pack it with"


class Packing:
    """The packs of a Stepper, and the loose parameters, which stay as they are."""

    def __init__(self, ownership: Ownership, *, wanted: bool) -> None:
        self._ownership = ownership
        self._wanted = wanted
        self.packs: list[Pack] = []
        self.loose = ownership.parameters()
        self.cells = Cells([], self.loose)
        self.reasons: dict[int, str] = {}
        """Why a parameter is loose, by id."""
        self.stale = wanted
        """Something changed: `build` at the next quiet moment."""
        self.irregular: dict[int, tuple[Tensor, str]] = {}
        """What was found never to fit, and why, by id."""
        self._stand_ins: dict[Optimizer, StandIns] = {}

    def build(self) -> None:
        """Packs what can be packed. Called between windows, after an update."""
        self.stale = False
        if not self._wanted:
            return
        self.unpack()
        self._note_reasons()
        for optimizer, group in self._ownership.groups():
            alike: dict[Hashable, list[Tensor]] = {}
            for p in group["params"]:
                if id(p) not in self.reasons:
                    like = likeness(p, optimizer.state.get(p, {}))
                    alike.setdefault(like, []).append(p)
            for members in (m for found in alike.values() for m in _portions(found)):
                if len(members) > 1:
                    self.packs.append(Pack(optimizer, group, members))
                else:
                    self.reasons[id(members[0])] = ALONE
        self._share_out()

    def build_as(
        self, packs: list[list[Tensor]], irregular: list[tuple[Tensor, str]], *, settled: bool
    ) -> None:
        """Packs as another Stepper had it, so that even roundings are the same."""
        self.unpack()
        self.irregular = {id(p): (p, why) for p, why in irregular}
        if not self._wanted:
            return
        self._note_reasons()
        homes = {
            id(p): (o, group) for o, group in self._ownership.groups() for p in group["params"]
        }
        for members in packs:
            if any(id(p) in self.reasons for p in members):
                continue
            optimizer, group = homes[id(members[0])]
            alike = {likeness(p, optimizer.state.get(p, {})) for p in members}
            if len(alike) == 1 and all(homes[id(p)][1] is group for p in members):
                self.packs.append(Pack(optimizer, group, members))
            else:
                settled = False  # somebody has reset a part of the state: packed anew, next time
        self._share_out()
        for p in self.loose:
            self.reasons.setdefault(id(p), ALONE)
        self.stale = not settled

    def _note_reasons(self) -> None:
        memory = Memory(self._ownership.parameters())
        for optimizer, group in self._ownership.groups():
            for p in group["params"]:
                if id(p) in self.irregular:
                    self.reasons[id(p)] = self.irregular[id(p)][1]
                elif why := why_loose(p, optimizer, group) or memory.why_held(p):
                    self.reasons[id(p)] = why

    def unpack(self) -> None:
        """Makes every parameter loose."""
        for pack in self.packs:
            pack.dissolve()
        self.packs.clear()
        self.reasons = {}
        self._share_out()

    def _share_out(self) -> None:
        packed = {id(p) for pack in self.packs for p in pack.members}
        self.loose = [p for p in self._ownership.parameters() if id(p) not in packed]
        self.cells = Cells(self.packs, self.loose)
        self._stand_ins = {}
        for optimizer in {pack.optimizer: None for pack in self.packs}:
            packs = [pack for pack in self.packs if pack.optimizer is optimizer]
            self._stand_ins[optimizer] = StandIns(optimizer, packs, packed)

    def evict(self, pack: Pack, members: list[Tensor]) -> None:
        """These get no deposit in some windows, and must not move then: never pack them again."""
        for p in members:
            self.keep_loose(p, "it gets no gradient in some windows, and must not move then")
        self.remove(pack)

    def keep_loose(self, p: Tensor, why: str) -> None:
        """Never packs this parameter again."""
        self.irregular[id(p)] = p, why

    def remove(self, pack: Pack) -> None:
        """Dissolves one pack; the next `build` makes another of what fits."""
        pack.dissolve()
        self.packs.remove(pack)
        self.stale = True
        self._share_out()

    def standing_in(self, optimizer: Optimizer, *, watched: bool) -> AbstractContextManager[None]:
        """Inside, the optimizer holds the packs in place of their members.

        `watched`: somebody looks at the members while it steps, so that they stay in their place.
        """
        stand_ins = self._stand_ins.get(optimizer)
        if stand_ins is None:
            return nullcontext()
        return _members_shown(stand_ins.packs) if watched else stand_ins


class StandIns:
    """What an optimizer holds while it steps: its packs, and what is loose."""

    def __init__(self, optimizer: Optimizer, packs: list[Pack], packed: set[int]) -> None:
        self.packs = packs
        self._groups: list[tuple[Group, list[Tensor]]] = []
        for group in optimizer.param_groups:
            flats: list[Tensor] = [pack.flat for pack in packs if pack.group is group]
            loose = [p for p in group["params"] if id(p) not in packed]
            self._groups.append((group, flats + loose))
        self._theirs: list[list[Tensor]] = []

    def __enter__(self) -> None:
        self._theirs = [group["params"] for group, _ in self._groups]
        for pack in self.packs:
            pack.enter()
        for group, ours in self._groups:
            group["params"] = ours

    def __exit__(self, *error: object) -> None:
        for (group, _), theirs in zip(self._groups, self._theirs, strict=True):
            group["params"] = theirs
        for pack in self.packs:
            pack.leave()


@contextmanager
def _members_shown(packs: list[Pack]) -> Iterator[None]:
    """Inside, each member holds its own gradient, for people who look at it; stepped one by one."""
    for pack in packs:
        if pack.missing is not None:
            for p, view in zip(pack.members, pack.grad_views, strict=True):
                p.grad = view
    try:
        yield
    finally:
        for pack in packs:
            for p in pack.members:
                p.grad = None
            pack.note_step_counts()


def _portions(members: list[Tensor]) -> Iterator[list[Tensor]]:
    """The members in their order, as many together as make a pack."""
    portion: list[Tensor] = []
    size = 0
    for p in members:
        if portion and size + p.numel() > PACK:
            yield portion
            portion, size = [], 0
        portion.append(p)
        size += p.numel()
    yield portion
