"""GL102: a step spends what another optimizer's loss left behind, mixed with its own."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Evidence, Law, Page, Place
from gradledger.ledger.events import Step
from gradledger.rules.evidence import deposited
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, step: Step) -> Iterator[Breach]:
    """A newer deposit lies on one whose backward another optimizer has already spent (Law 1)."""
    for names, cell in page.spent_by(step):
        foreign = [h for h in cell.fresh if h.spent_by]
        newer = [h for h in cell.fresh if h.on_foreign and h.unspent]
        if newer and foreign:
            spender = min(min(h.spent_by) for h in foreign)
            evidence = (
                *(Evidence("deposited", h.at, f"by the loss of {spender}") for h in foreign[:1]),
                *deposited(newer),
            )
            detail = f"also spends gradients of a backward that {spender} has already used"
            # A joint loss for two nets looks the same where both were cleared together for it, and
            # what comes on top is for both as well.
            joint = all(h.joint for h in foreign) and _reaches(page, spender, {h.at for h in newer})
            # Where only one loss is added up here, it is this window's own, of which the other
            # optimizer has spent what leaked into it.
            own = {h.at for h in newer} <= {h.at for h in foreign}
            sure = not (joint or own)
            yield Breach(step.at, detail, evidence, names, sure)


def _reaches(page: Page, owner: str, sites: set[Place]) -> bool:
    """Whether the backwards at these places also deposit into cells of this optimizer."""
    return any(h.at in sites for _, cell in page.owned_by(owner) for h in cell.fresh)


RULE = Rule(
    code="GL102",
    name="foreign-gradient-spent",
    severity=Severity.ERROR,
    law=Law.ONCE,
    seen_by=SeenBy.BOTH,
    says="this step also spends gradients of a loss that was meant for another optimizer",
    explains=(
        "A backward pass fills every parameter that its graph reaches, not only those of the "
        "optimizer that steps next. When two networks are trained against each other, the first "
        "one's loss leaves gradients in the second. If the second is not cleared before its own "
        "backward, its step uses both. Two optimizers that each spend their part of one "
        "backward pass are fine. If both were cleared together right before it, and the loss "
        "added on top reaches both as well, it may be intended."
    ),
    why=(
        "In a GAN, the generator's loss rewards a discriminator that is fooled. Leaked into the "
        "discriminator's step, it pushes the discriminator to be fooled as well."
    ),
    fix="clear this optimizer's gradients right before its own backward",
    symptom=(
        "adversarial training that stalls or collapses, and depends oddly on the order of the lines"
    ),
    broken=broken,
)
