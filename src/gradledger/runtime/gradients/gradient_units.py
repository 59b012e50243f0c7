"""The unit that gradients are in: some still carry the scale of a GradScaler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor

from gradledger.ledger.cells import Cell
from gradledger.runtime.gradients.scalers import Scalers
from gradledger.runtime.journal.journal import Journal


class Units:
    """Asks the book which cells are scaled, and the scalers by how much."""

    def __init__(self, journal: Journal, scalers: Scalers) -> None:
        self._journal = journal
        self._scalers = scalers

    def of(self, slots: Sequence[int]) -> Iterator[tuple[Sequence[int], Tensor | float]]:
        """These slots by their unit, each with what to divide by.

        Cells that hold deposits in different units are left out: no division makes sense of them.
        """
        if not self._scalers.met:
            yield slots, 1.0
            return
        names = self._journal.cells.names
        by_name = {names[slot]: slot for slot in slots}
        for among, cell in self._journal.book.page.among(frozenset(by_name)):
            units = _units(cell)
            if len(units) > 1:
                continue
            alike = [by_name[name] for name in among]
            scaler = units.pop() if units else None
            if scaler is None:
                yield alike, 1.0
            elif (scale := self._scalers.scale(scaler)) is not None:
                yield alike, scale


_OLD = "an old scale"


def _units(cell: Cell) -> set[str | None]:
    return {
        (_OLD if h.rescaled_at else h.deposit.scaler) if h.scaled else None for h in cell.holdings
    }
