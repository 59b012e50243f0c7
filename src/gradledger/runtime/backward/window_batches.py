"""Which passes of a window are of other batches, where no draw was seen in between."""

from __future__ import annotations

from collections.abc import Callable

from torch.autograd.graph import Node

from gradledger.ledger.events import Batch, CellNames
from gradledger.runtime.backward.call_sites import NEAR, Site
from gradledger.runtime.backward.unknown_batches import UnknownBatches
from gradledger.runtime.batches.drawn_batches import Draw, DrawnBatches
from gradledger.runtime.journal.journal import Journal

DRAWN_AHEAD = "drawn ahead of their use, and not found in the graph of the loss"


class Batches:
    """Writes a `Batch` before a pass that is of another one than the pass before."""

    def __init__(
        self, journal: Journal, unknown: UnknownBatches, trained: Callable[[], CellNames | None]
    ) -> None:
        self.journal = journal
        self.unknown = unknown
        self.trained = trained
        """The cells that the thread at work has a part in."""
        self.drawn = DrawnBatches()

    def begins(self, site: Site, root: Node | None, *, cut: bool) -> None:
        """A pass begins. `cut`: loaders have ended, and who goes on tells of no batches."""
        drawn = self.drawn
        told, site.told = site.told != drawn.told, drawn.told
        before, site.draw = site.draw, None
        # No loader has told of a batch since the pass before.
        alone, ahead = site.goes_on and not told, drawn.ahead or cut
        drawn.passes()
        if root is not None:
            site.draw = self._draw(site, root, needed=ahead and (alone or site.drawn_ahead))
        site.drawn_ahead |= alone and ahead
        if site.goes_on and site.batch is not None:
            self.journal.enter(site.batch)
        elif alone and site.draw is not None and before is not None:
            if site.draw.iterator == before.iterator and site.draw != before:
                self.journal.enter(self.journal.made(Batch, site.at, self.trained()))
        elif alone and ahead:
            self.unknown.missed(site, DRAWN_AHEAD)

    def _draw(self, site: Site, root: Node, *, needed: bool) -> Draw | None:
        if needed:
            return self.drawn.of(root, site.data_in)
        if not site.looks_for_batch:
            return None
        found = self.drawn.of(root, site.data_in, NEAR)
        site.draws_missed = 0 if found else site.draws_missed + 1
        return found
