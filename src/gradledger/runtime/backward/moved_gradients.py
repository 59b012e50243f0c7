"""Parameters that a backward pass reaches, and whose `.grad` is empty when it has ended.

Either no gradient was made, or a hook took it elsewhere, as for Megatron's `main_grad`: nothing
tells which. Where an optimizer spends something of these parameters later, deposits may have gone
unseen, and the verdict says so.
"""

from __future__ import annotations

from collections.abc import Iterable

from gradledger.runtime.journal.cells import State
from gradledger.runtime.journal.journal import Journal

MOVED = "backward reached them and left .grad empty: there was no gradient, or a hook took it"


class MovedGradients:
    """The slots that passes reached and left empty."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.left_empty: set[int] = set()
        journal.buried.append(self.left_empty.difference_update)

    def after(self, reached: Iterable[int], now: list[State]) -> None:
        """A pass has ended that reached these."""
        self.left_empty.update(slot for slot in reached if now[slot] is None)

    def stepped(self, slots: Iterable[int]) -> None:
        """An optimizer of these has stepped. What it found in them may be more than was seen."""
        cells = self.journal.cells
        spent = [slot for slot in self.left_empty.intersection(slots) if not cells.empty((slot,))]
        if spent:
            self.left_empty.difference_update(spent)
            names = [cells.names[slot] for slot in spent]
            self.journal.not_seen("deposits", MOVED, names=names)
