"""GL502: each micro-batch of a window is clipped, instead of the window."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Clip
from gradledger.rules.evidence import deposited
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, clip: Clip) -> Iterator[Breach]:
    """A clip meets deposits of a call site that lie on clipped ones of the same site (Law 5)."""
    if not clip.changes:
        return
    for names, cell in page.among(clip.cells):
        # What an exception broke off was a window of its own (GL902).
        clipped = {h.at for h in cell.fresh if h.clipped and not h.interrupted_at}
        again = [h for h in cell.fresh if not h.clipped and h.at in clipped]
        # What has no owner is never spent or cleared: it is in no window.
        if again and cell.owners:
            detail = "clips a window that is not complete, once per micro-batch"
            yield Breach(clip.at, detail, deposited(again), names)


RULE = Rule(
    code="GL502",
    name="clip-inside-window",
    severity=Severity.WARNING,
    law=Law.IN_ORDER,
    seen_by=SeenBy.BOTH,
    says="each micro-batch is clipped, and not the window that the step spends",
    explains=(
        "In an accumulation window, the clip comes right after the backward, so every "
        "micro-batch clips the sum so far. The first ones are scaled down again and "
        "again; the last one counts in full."
    ),
    why=(
        "The step's gradient is neither clipped as a whole nor the mean of its micro-batches, "
        "and it depends on their order."
    ),
    fix="clip once per window, right before the step",
    symptom="accumulation with clipping trains worse than the big batch with clipping",
    broken=broken,
)
