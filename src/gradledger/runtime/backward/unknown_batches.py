"""Passes of one window that may be of other batches each, where nothing says so, or not yet.

They go the same way with other data, and no loader tells of batches: micro-batches do that, and so
do tasks. A loop that counts on behind the step is one over data; then the windows of before are
judged late. Where nothing ever tells, that is said.
"""

from __future__ import annotations

from gradledger.ledger.cells import Accumulation, Cell
from gradledger.ledger.events import Step
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.runtime.backward.call_sites import Site
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.losses.unknown_weights import UnknownWeights

EITHER = "nothing shows whether they are of one batch or of several"
RULES = ("GL301", "GL302")
"""Those that ask how many batches a window has."""


class UnknownBatches:
    """Remembers the windows that wait to be judged, and says which ones never were."""

    def __init__(self, journal: Journal, unweighed: UnknownWeights) -> None:
        self.journal = journal
        self.unweighed = unweighed
        self.sites: dict[Place, Site] = {}
        """Where such passes are made."""
        self._waiting: dict[Place, list[tuple[Page, Step]]] = {}
        """Windows that were spent while it was open."""
        self._missed: dict[Place, dict[str, int]] = {}
        """Passes whose batch was not found while it was open, by the reason."""

    def missed(self, site: Site, why: str) -> None:
        """The batch of a pass was not found."""
        if not site.counts:
            self.journal.not_seen("batches", why)
            return
        reasons = self._missed.setdefault(site.at, {})
        reasons[why] = reasons.get(why, 0) + 1

    def spends(self, step: Step) -> None:
        """A step is about to spend what is in its cells: a window counts once."""
        if not self.sites:
            return
        page = self.journal.book.page
        for _, cell in page.spent_by(step):
            window = cell.accumulation
            if window is None or window.at not in self.sites:
                continue
            unknown = window.deposits(page.counting) - window.batches(page.counting)
            if unknown and self._is_needed(window, page):
                if self.sites[window.at].counts:
                    self._waiting.setdefault(window.at, []).append((page, step))
                else:
                    self.journal.not_seen("batches", EITHER, count=unknown)
                return

    def _is_needed(self, window: Accumulation, page: Page) -> bool:
        """Whether a rule would judge the window otherwise if each pass were of another batch."""
        if not window.regular or any(h.edited for h in window.holdings):
            return False
        held = [h.deposit.weight for h in window.holdings]
        if any(w.reduction is None or w.divisor is None for w in held):
            return True
        return window.all_means and window.deposits(page.counting) > window.divisor * 1.001

    def were_batches(self, site: Site) -> None:
        """Each pass of a site was of another batch, as is known by now."""
        self.sites.pop(site.at, None)
        self._missed.pop(site.at, None)
        for page, step in self._waiting.pop(site.at, ()):
            late = page.touch_where(
                lambda cell: bool(cell.fresh), lambda cell: _each(cell, site.at)
            )
            self.unweighed.spends(step, late)
            for rule in RULES:
                self.journal.judge_late(late, step, rule)

    def stay_unknown(self, site: Site) -> None:
        """Nothing more will come to tell."""
        for page, step in self._waiting.pop(site.at, ()):
            for _, cell in page.spent_by(step):
                window = cell.accumulation
                if window is not None and window.at == site.at:
                    count = window.deposits(page.counting) - window.batches(page.counting)
                    self.journal.not_seen("batches", EITHER, count=count)
                    break
        for why, count in self._missed.pop(site.at, {}).items():
            self.journal.not_seen("batches", why, count=count)

    def end(self) -> None:
        """The run is over."""
        for site in list(self.sites.values()):
            self.stay_unknown(site)


def _each(cell: Cell, at: Place) -> Cell:
    """With a batch for each fresh deposit of a site."""
    held = (replace(h, batches=h.count) if h.fresh and h.at == at else h for h in cell.holdings)
    return replace(cell, holdings=tuple(held))
