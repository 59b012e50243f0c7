"""The sums of a window: what its deposits add up to, out of everybody's reach until it is spent.

What a backward brings, in empty cells or past them, is added up here only when it has ended well.
So one that fails half way has torn nothing but cells, which are cleared (Law 9).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set

import torch
from torch import Tensor
from torch.optim import Optimizer

from gradledger.engine.packable import LOW_PRECISION
from gradledger.engine.packing import Packing
from gradledger.engine.packs import Pack


class Sums:
    """One sum for each pack and for each loose parameter that got a deposit."""

    def __init__(self, packing: Packing) -> None:
        self._packing = packing
        self.loose: dict[Tensor, Tensor] = {}
        self.changing = False
        """A deposit is on its way in: whoever counts it says when it is there."""
        self.spread = False
        """Some are DTensors, and each rank adds up its own part of them."""

    def add(
        self,
        parameters: Sequence[Tensor],
        gradients: Sequence[Tensor | None],
        weight: float,
        *,
        widen: bool,
        keep: bool,
    ) -> bool:
        """Adds a gradient for each of the parameters; says whether there was any.

        The parameters are in the order of the cells: the packs' members come first.

        `widen`: low precision is added up in float32, because more deposits may come.
        `keep`: nobody else holds the gradients.
        """
        loose = None
        if self._packing.loose:
            packed = sum(len(pack.members) for pack in self._packing.packs)
            rest = zip(parameters[packed:], gradients[packed:], strict=True)
            loose = self._prepare(rest, weight, widen=widen, keep=keep)
        # What may run out of memory is behind us: from here on, sums change.
        self.changing = True
        found = loose is not None and loose.apply(self.loose, weight)
        start = 0
        refused: list[tuple[Pack, Sequence[Tensor | None]]] = []
        for pack in self._packing.packs:
            end = start + len(pack.members)
            added = pack.add(gradients[start:end], weight)
            if added:
                found = True
            elif added is None:
                refused.append((pack, gradients[start:end]))
            start = end
        for pack, deposits in refused:
            self._take_over(pack)
            self._packing.remove(pack)
            rest = zip(pack.members, deposits, strict=True)
            loose = self._prepare(rest, weight, widen=widen, keep=keep)
            found |= loose.apply(self.loose, weight)
        return found

    def _prepare(
        self,
        deposits: Iterable[tuple[Tensor, Tensor | None]],
        weight: float,
        *,
        widen: bool,
        keep: bool,
    ) -> _Loose:
        """Makes what loose parameters need, and changes nothing yet."""
        loose = _Loose()
        for p, grad in deposits:
            if grad is None:
                continue
            if grad.layout is not torch.strided:
                grad = grad.coalesce()
                self._packing.keep_loose(p, "its gradients are sparse")
            ours = keep
            if widen and grad.dtype in LOW_PRECISION:
                grad, ours = grad.float(), True
            old = self.loose.get(p)
            if old is None:
                if weight != 1.0:
                    grad, ours = grad * weight, True
                loose.new[p] = grad if keep else _laid_out_as(p, grad, copied=ours)
            elif old.layout is torch.strided and grad.layout is torch.strided:
                loose.into.append(local(old) if self.spread else old)
                loose.what.append(local(grad) if self.spread else grad)
            elif old.layout is torch.strided:
                loose.new[p] = old.add(grad, alpha=weight)
            elif grad.layout is torch.strided:
                loose.new[p] = _laid_out_as(p, grad * weight + old, copied=True)
            else:
                loose.new[p] = (grad * weight + old).coalesce()
        return loose

    def restore(self, totals: list[tuple[Tensor, Tensor]]) -> None:
        """Takes up sums that were saved, in their order."""
        packed = {id(p): pack for pack in self._packing.packs for p in pack.members}
        for p, total in totals:
            if id(p) in packed:
                packed[id(p)].restore(p, total)
            else:
                self.loose[p] = total.to(p.device, copy=True)

    def forget(self) -> None:
        """Empties every sum."""
        self.loose.clear()
        for pack in self._packing.packs:
            pack.forget()

    def settle(self) -> None:
        """Takes those packs apart that can't be stepped as one.

        A member without a deposit must not be moved by momentum or decay, and one that was given
        other memory or other state has left the pack.
        """
        entries: dict[Optimizer, Set[int]] = {}
        for pack in list(self._packing.packs):
            if pack.missing:
                absent = [pack.members[i] for i in pack.missing]
                self._take_over(pack)
                self._packing.evict(pack, absent)
                continue
            optimizer = pack.optimizer
            if optimizer not in entries:
                entries[optimizer] = set(map(id, optimizer.state.values()))
            if not (pack.in_place() and pack.intact(entries[optimizer])):
                self._take_over(pack)
                self._packing.remove(pack)

    def settle_all(self) -> None:
        """Takes all packs apart."""
        for pack in self._packing.packs:
            self._take_over(pack)
        self._packing.unpack()
        self._packing.stale = True

    def _take_over(self, pack: Pack) -> None:
        if pack.missing is not None:
            for i, (p, total) in enumerate(zip(pack.members, pack.sum_views, strict=True)):
                if i not in pack.missing:
                    self.loose[p] = total.clone()

    def each(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Every parameter with a deposit, and its sum."""
        for pack in self._packing.packs:
            if pack.missing is not None:
                for i, (p, view) in enumerate(zip(pack.members, pack.sum_views, strict=True)):
                    if i not in pack.missing:
                        yield p, view
        yield from self.loose.items()


class _Loose:
    """A deposit for loose parameters: sums to be added to, and new ones."""

    def __init__(self) -> None:
        self.new: dict[Tensor, Tensor] = {}
        self.into: list[Tensor] = []
        self.what: list[Tensor] = []

    def apply(self, sums: dict[Tensor, Tensor], weight: float) -> bool:
        """Adds it; says whether there was any."""
        sums.update(self.new)
        if self.into:
            torch._foreach_add_(self.into, self.what, alpha=weight)
        return bool(self.new or self.into)


def local(total: Tensor) -> Tensor:
    """What of it is on this rank."""
    here: Tensor = total.to_local() if hasattr(total, "to_local") else total  # a DTensor's
    return here


def _laid_out_as(p: Tensor, total: Tensor, *, copied: bool) -> Tensor:
    """The sum in the memory order of its parameter, as torch leaves a gradient in a cell.

    Fused kernels go by memory, not by index. `copied`: nobody else holds it.
    """
    if total.layout is torch.strided and total.stride() != p.stride():
        return torch.empty_like(p, dtype=total.dtype).copy_(total)
    return total if copied else total.clone()
