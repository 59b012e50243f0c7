"""Finds optimizers that still have the parameters of a model that was rebuilt (GL603)."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable

from torch import nn

from gradledger.ledger.events import CellNames, Replace
from gradledger.ledger.places import Place
from gradledger.runtime.backward.graph_holders import Holder, Holders, Survey, parameters_of
from gradledger.runtime.journal.journal import Journal


class RebuiltModels:
    """Writes a `Replace` where a backward fills parameters that no optimizer owns, made like those
    that an optimizer holds and that get nothing any more."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._holders = Holders(journal.places)

    def look(self, owned: CellNames, filled: CellNames, at: Place) -> None:
        """An optimizer of `owned` is about to step, and the latest backward has filled others than
        the one before its last step did."""
        if filled <= owned:
            return
        new = self._slots(filled - owned)
        new = [slot for slot in new if slot not in self.journal.owned and self._trains(slot)]
        old = self._slots(owned - filled)
        if not new or not old or self._shapes(new) != self._shapes(old):
            return
        names = self.journal.cells.names_of(tuple(old))
        cells = [cell for _, cell in self.journal.book.page.among(names)]
        if any(cell.holdings for cell in cells):
            return
        survey = self._holders.survey(self.journal.places.frames(sys._getframe()))
        if not (self._followed(filled, names) or self._are_gone(old, survey)):
            return
        by = self.journal.cells.names_of(tuple(new))
        self.journal.post(Replace(self._made(new, survey) or at, names, by))

    def _slots(self, names: Iterable[str]) -> list[int]:
        wanted = frozenset(names)
        return [slot for slot, name in enumerate(self.journal.cells.names) if name in wanted]

    def _trains(self, slot: int) -> bool:
        leaf = self.journal.cells.leaf(slot)
        return isinstance(leaf, nn.Parameter) and leaf.requires_grad

    def _shapes(self, slots: list[int]) -> Counter[tuple[int, ...]]:
        leaves = map(self.journal.cells.leaf, slots)
        return Counter(tuple(leaf.shape) for leaf in leaves if leaf is not None)

    def _are_gone(self, slots: list[int], survey: Survey) -> bool:
        """Whether no module of the program has any of these parameters, as far as is known."""
        return not survey.cut and not any(
            id(self.journal.cells.leaf(slot)) in survey.modes for slot in slots
        )

    def _followed(self, filled: CellNames, names: CellNames) -> bool:
        """Whether the line that fills others now has filled all of these before."""
        among = self.journal.book.page.among
        sites = {holding.at for _, cell in among(filled) for holding in cell.holdings}
        return all(not sites.isdisjoint(cell.spent_sites) for _, cell in among(names))

    def _made(self, slots: list[int], survey: Survey) -> Place | None:
        """The statement that made the module of these parameters."""
        wanted = {id(self.journal.cells.leaf(slot)) for slot in slots}
        for held in survey.modules:
            if not wanted <= parameters_of(held.value):
                continue
            parts = held.holder.split(".")
            for length in range(1, len(parts) + 1):
                holder = Holder(held)
                holder.path = ".".join(parts[:length])
                if (place := self._holders.maker(holder)) is not None:
                    return place
        return None
