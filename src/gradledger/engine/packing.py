"""Which parameters are packed, which are not, and why."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn, optim
from torch.optim import Optimizer

from gradledger.engine.guards import is_watched
from gradledger.engine.ownership import Ownership
from gradledger.engine.packs import Pack

ELEMENTWISE: frozenset[type[Optimizer]] = frozenset(
    {
        optim.SGD,
        optim.Adam,
        optim.AdamW,
        optim.RMSprop,
        optim.Adagrad,
        optim.Adadelta,
        optim.Adamax,
        optim.NAdam,
        optim.RAdam,
        optim.ASGD,
        optim.Rprop,
    }
)
"""What happens to an element depends on that element alone. These very classes, no subclass."""

LARGEST = 2**16
"""Elements. Beyond this, the copy into the pack costs more than a step of its own."""


class Packing:
    """The packs of a Stepper, and the loose parameters, which stay as they are."""

    def __init__(self, ownership: Ownership, *, wanted: bool) -> None:
        self._ownership = ownership
        self._wanted = wanted
        self.packs: list[Pack] = []
        self.loose = ownership.parameters()
        self.reasons: dict[int, str] = {}
        """Why a parameter is loose, by id."""
        self.stale = wanted
        """Something changed: `build` at the next quiet moment."""
        self.irregular: dict[int, tuple[Tensor, str]] = {}
        """What was found never to fit, and why, by id."""
        self._stand_ins: list[tuple[dict[str, Any], list[Tensor]]] = []

    def build(self) -> None:
        """Packs what can be packed. Called between windows, after an update."""
        self.stale = False
        if not self._wanted:
            return
        self.unpack()
        bundles: dict[Hashable, list[Tensor]] = {}
        places: dict[Hashable, tuple[Optimizer, dict[str, Any]]] = {}
        for which, (optimizer, group) in enumerate(self._ownership.groups()):
            unfit = why_no_packing(optimizer, group)
            for p in group["params"]:
                why = unfit or self._why_loose(p, optimizer)
                if why:
                    self.reasons[id(p)] = why
                    continue
                scalars = _scalars(optimizer.state.get(p, {}))
                key: Hashable = (which, p.dtype, p.device, scalars)
                bundles.setdefault(key, []).append(p)
                places[key] = optimizer, group
        for like, members in bundles.items():
            if len(members) > 1:
                self.packs.append(Pack(*places[like], members))
            else:
                self.reasons[id(members[0])] = "there is no other like it to pack it with"
        self._share_out()

    def build_as(
        self, packs: list[list[Tensor]], irregular: list[tuple[Tensor, str]], *, settled: bool
    ) -> None:
        """Packs as another Stepper had it, so that even roundings are the same."""
        self.unpack()
        self.irregular = {id(p): (p, why) for p, why in irregular}
        homes = {
            id(p): (o, group) for o, group in self._ownership.groups() for p in group["params"]
        }
        if not self._wanted:
            return
        for members in packs:
            optimizer, group = homes[id(members[0])]
            if not any(why_no_packing(optimizer, group) or why_loose(p) for p in members):
                self.packs.append(Pack(optimizer, group, members))
        self._share_out()
        self.stale = not settled

    def unpack(self) -> None:
        """Makes every parameter loose."""
        for pack in self.packs:
            pack.dissolve()
        self.packs = []
        self.reasons = {}
        self._share_out()

    def _share_out(self) -> None:
        packed = {id(p) for pack in self.packs for p in pack.members}
        self.loose = [p for p in self._ownership.parameters() if id(p) not in packed]
        self._stand_ins = []
        if self.packs:
            for _, group in self._ownership.groups():
                flats: list[Tensor] = [pack.flat for pack in self.packs if pack.group is group]
                loose = [p for p in group["params"] if id(p) not in packed]
                self._stand_ins.append((group, flats + loose))

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

    @contextmanager
    def standing_in(self, optimizer: Optimizer) -> Iterator[None]:
        """Inside, the optimizer holds the packs in place of their members."""
        packs = [pack for pack in self.packs if pack.optimizer is optimizer]
        if not packs:
            yield
        elif is_watched(optimizer):
            with _members_shown(packs):
                yield
        else:
            theirs = [(group, group["params"]) for group in optimizer.param_groups]
            ours = {id(group): params for group, params in self._stand_ins}
            for pack in packs:
                pack.enter()
            try:
                for group, _ in theirs:
                    group["params"] = ours[id(group)]
                yield
            finally:
                for group, params in theirs:
                    group["params"] = params
                for pack in packs:
                    pack.leave()

    def _why_loose(self, p: Tensor, optimizer: Optimizer) -> str | None:
        if id(p) in self.irregular:
            return self.irregular[id(p)][1]
        return why_loose(p) or why_state_does_not_pack(p, optimizer)


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


def why_no_packing(optimizer: Optimizer, group: dict[str, Any]) -> str | None:
    """Why nothing of a param group can be packed; None if it can."""
    kind = type(optimizer)
    if kind not in ELEMENTWISE:
        return f"{kind.__name__} is not known to treat every element by itself"
    if group.get("differentiable"):
        return "its optimizer is differentiable"
    return None


def why_loose(p: Tensor) -> str | None:
    """Why a parameter stays as it is, by what it is; None if it can be packed."""
    if type(p) is not nn.Parameter or type(p.data) is not Tensor:
        return f"it is a {type(p).__name__}, not a plain parameter"
    if not p.requires_grad:
        return "it is frozen"
    if p.numel() > LARGEST:
        return f"it is large (more than {LARGEST:,} elements): a step of its own costs less"
    if p.dim() == 0 or p.numel() == 0:
        return "it is a scalar, or empty"
    if not p.is_floating_point() or p.layout != torch.strided:
        return f"its type is {p.dtype}, {p.layout}"
    if not p.is_contiguous():
        return "its memory format is not the plain one"
    if getattr(p, "grad_dtype", p.dtype) not in (p.dtype, None):
        return "its gradient has a type of its own"
    storage = p.untyped_storage()
    if storage.is_shared() or storage.nbytes() != p.numel() * p.element_size():
        return "its memory is shared with something else"
    if torch._C._storage_Use_Count(storage._cdata) > _HOLDERS:
        return "something else holds its memory (a state_dict, a NumPy array, a detached copy)"
    return None


def why_state_does_not_pack(p: Tensor, optimizer: Optimizer) -> str | None:
    """Why a parameter's optimizer state keeps it out of a pack; None if it does not."""
    for key, value in optimizer.state.get(p, {}).items():
        if isinstance(value, Tensor):
            if value.dim() and (value.shape != p.shape or value.layout != torch.strided):
                return f"its optimizer state {key!r} has another shape"
        elif not isinstance(value, Hashable):
            return f"its optimizer state {key!r} is a {type(value).__name__}"
    return None


def _scalars(state: dict[str, Any]) -> tuple[Hashable, ...]:
    """What has to be equal in a pack: which state there is, and step counts."""
    return tuple(
        (key, value.dtype, value.item() if value.dim() == 0 else None)
        if isinstance(value, Tensor)
        else (key, value)
        for key, value in state.items()
    )


def _holders_of_a_plain_parameter() -> int:
    parameter = nn.Parameter(torch.zeros(1))
    storage = parameter.untyped_storage()
    return int(torch._C._storage_Use_Count(storage._cdata))


_HOLDERS = _holders_of_a_plain_parameter()
