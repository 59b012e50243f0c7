"""GL802: the ranks average after each micro-batch of a window."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Sync
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, sync: Sync) -> Iterator[Breach]:
    """Deposits of a call site are averaged on top of others that were averaged already (Law 8)."""
    for names, cell in page.among(sync.cells):
        averaged = {h.at for h in cell.fresh if h.synced}
        again = [h for h in cell.fresh if h.local and h.at in averaged]
        if again:
            detail = "averages over the ranks once per micro-batch; once per window is enough"
            yield Breach(again[0].at, detail, cells=names)


RULE = Rule(
    code="GL802",
    name="sync-inside-window",
    severity=Severity.INFO,
    law=Law.SAME_EVERYWHERE,
    seen_by=SeenBy.BOTH,
    says="the ranks exchange gradients after each micro-batch instead of once per window",
    explains=(
        "DistributedDataParallel averages in every backward unless its forward and backward run "
        "under `no_sync()`. In an accumulation window only the last micro-batch needs to. A "
        "`no_sync()` around the backward alone has no effect. FSDP2 reduces in every backward "
        "unless you call `set_requires_gradient_sync(False)`; it then keeps whole gradients in "
        "memory until the last one."
    ),
    why=(
        "The update is the same. Communication costs N times as much, which on slow links is "
        "most of the time."
    ),
    fix=(
        "run all but the last micro-batch, forward and backward, under model.no_sync() or "
        "set_requires_gradient_sync(False)"
    ),
    symptom="accumulation does not make training on many ranks any faster",
    broken=broken,
)
