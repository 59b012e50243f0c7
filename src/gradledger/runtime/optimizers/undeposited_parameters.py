"""Parameters that have no deposit, and that a step may move all the same."""

from __future__ import annotations

from torch import Tensor

from gradledger.ledger.events import CellNames
from gradledger.ledger.page import Page
from gradledger.runtime.journal.cells import Slots
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.tensors.devices import here
from gradledger.runtime.tensors.dtensors import local_part

MOST = 1000
"""Pages whose idle cells are remembered."""


class UndepositedParameters:
    """Cells with zeros, or frozen with an old gradient: momentum and decay still move them."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._known: dict[tuple[Page, str], tuple[str, ...]] = {}
        self._latest: tuple[Page | None, str, tuple[str, ...]] = (None, "", ())

    def of(self, optimizer: str) -> tuple[str, ...]:
        """Those that an optimizer is about to step with."""
        page = self.journal.book.page
        on, whose, cells = self._latest
        if on is page and whose == optimizer:
            return cells
        known = self._known.get((page, optimizer))
        if known is None:
            if len(self._known) > MOST:
                self._known.clear()
            known = self._known[page, optimizer] = self._find(page, optimizer)
        self._latest = page, optimizer, known
        return known

    def _find(self, page: Page, optimizer: str) -> tuple[str, ...]:
        groups = list(page.owned_by(optimizer))
        if not any(cell.fresh for _, cell in groups):
            return ()
        return tuple(
            name
            for names, cell in groups
            if not cell.fresh and (cell.zeros or (cell.traits.frozen and cell.holdings))
            for name in sorted(names)
        )

    def look(self, optimizer: str, slots: Slots) -> dict[str, Tensor]:
        """What they look like before the step."""
        cells = self.journal.cells
        looks = {}
        for name in self.of(optimizer):
            for slot in slots:
                if cells.names[slot] != name or (leaf := cells.leaf(slot)) is None:
                    continue
                if here(leaf):  # elsewhere, to compare them would wait
                    looks[name] = local_part(leaf).detach().clone()
        return looks

    def moved(self, before: dict[str, Tensor], slots: Slots) -> CellNames:
        """Which of them the step has changed."""
        cells = self.journal.cells
        moved = set()
        for slot in slots:
            look, leaf = before.get(cells.names[slot]), cells.leaf(slot)
            if look is not None and leaf is not None and not look.equal(local_part(leaf).detach()):
                moved.add(cells.names[slot])
        return frozenset(moved)
