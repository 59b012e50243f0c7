"""GL801: a step spends gradients that were never averaged over the ranks."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Step
from gradledger.rules.evidence import deposited
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, step: Step) -> Iterator[Breach]:
    """The latest fresh deposit of a cell is still this rank's own (Law 8)."""
    for names, cell in page.spent_by(step):
        local = [h for h in cell.fresh if h.local]
        if local:
            detail = "spends gradients that only this rank has"
            yield Breach(step.at, detail, deposited(local), names)


RULE = Rule(
    code="GL801",
    name="step-without-sync",
    severity=Severity.ERROR,
    law=Law.SAME_EVERYWHERE,
    seen_by=SeenBy.BOTH,
    says="this step spends gradients that the ranks have not averaged",
    explains=(
        "Under `no_sync()` each rank keeps its gradients to itself. The last micro-batch of a "
        "window has to run its forward and backward outside of it, so that all ranks average "
        "the whole window before they step. What counts is where the forward pass stood: "
        "DistributedDataParallel decides there whether its backward averages."
    ),
    why=(
        "Every rank moves its replica by its own gradient. The replicas drift apart, and what "
        "is saved at the end is one of them."
    ),
    fix=("run the forward and backward of the window's last micro-batch outside no_sync()"),
    symptom=(
        "the loss differs more and more between ranks; evaluation depends on which rank does it"
    ),
    broken=broken,
)
