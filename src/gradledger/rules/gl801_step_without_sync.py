"""GL801: a step spends gradients that were never averaged over the ranks."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Step
from gradledger.rules.evidence import deposited
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, step: Step) -> Iterator[Breach]:
    """The latest fresh deposit of a cell is still this rank's own (Law 8).

    FSDP2 keeps such deposits out of the step's reach: it spends nothing.
    """
    for names, cell in page.spent_by(step):
        local = [h for h in cell.fresh if h.local]
        if local:
            detail = "spends gradients that only this rank has"
            yield Breach(step.at, detail, deposited(local), names)
    for names, cell in page.among(step.unreduced):
        detail = "finds no gradient: each rank keeps its own, and none has been reduced"
        yield Breach(step.at, detail, deposited(cell.fresh), names)


RULE = Rule(
    code="GL801",
    name="step-without-sync",
    severity=Severity.ERROR,
    law=Law.SAME_EVERYWHERE,
    seen_by=SeenBy.BOTH,
    says="this step spends gradients that the ranks have not averaged",
    explains=(
        "Under `no_sync()`, gradients aren't exchanged between ranks. The last micro-batch of a "
        "window has to run its forward and backward outside of it, so that all ranks average "
        "the whole window before they step. What counts is where the forward pass ran: "
        "DistributedDataParallel decides there whether its backward averages. Under "
        "`set_requires_gradient_sync(False)`, FSDP2 keeps gradients out of `.grad`: the step "
        "finds none, and they end up in a later window."
    ),
    why=(
        "Every rank updates its replica with its own gradient. The replicas drift apart, and only "
        "one of them is saved at the end. Under FSDP2 nothing moves at all."
    ),
    fix=(
        "run the window's last forward and backward outside no_sync(), or after "
        "set_requires_gradient_sync(True)"
    ),
    symptom=(
        "the loss differs more and more between ranks; evaluation depends on which rank does it"
    ),
    broken=broken,
)
