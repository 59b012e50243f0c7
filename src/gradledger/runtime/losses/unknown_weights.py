"""Windows whose weights could not be read: reported as not seen, as GL301 and GL302 need them."""

from __future__ import annotations

from gradledger.ledger.cells import Accumulation
from gradledger.ledger.events import Step
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place
from gradledger.runtime.journal.journal import Journal

HOOKED = "hooks may change the gradients"
UNCLEAR = "of some of its backward passes it is not known whether they are of other batches"
TAKEN_OVER = "a library takes the gradients over, and may divide them"
NO_BATCHES = "the loader has ended, and others give out its batches"
SEVERAL = "a backward begins with several losses"
FIRST = "all windows before held one batch"


class UnknownWeights:
    """Counts the windows that were spent and whose weights couldn't be read."""

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self.why: dict[Place, str] = {}
        """The call sites that have made a deposit of unknown weight, and the reason."""

    def spends(self, step: Step, page: Page) -> None:
        """A step is about to spend what is in its cells: a window counts once."""
        for _, cell in page.spent_by(step):
            window = cell.accumulation
            if window is not None and window.at in self.why and self._was_needed(window, page):
                self.journal.not_seen("weights", self.why[window.at])
                return

    def _was_needed(self, window: Accumulation, page: Page) -> bool:
        """Whether the rules would have asked: one micro-batch needs no weight, and a sum has one.

        Who changes gradients by hand may have weighed them anew.
        """
        if not window.regular or window.batches(page.counting) < 2:
            return False
        held = [h.deposit.weight for h in window.holdings]
        if any(h.edited for h in window.holdings) or any(w.framework_divides for w in held):
            return False
        return any(w.reduction is None or w.divisor is None for w in held)
