"""GL402: optimizer.step() is called directly on gradients of a scaled loss."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Step
from gradledger.rules.evidence import deposited
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, step: Step) -> Iterator[Breach]:
    """A step past the scaler spends fresh deposits that are still scaled (Law 4)."""
    if step.scaler is not None:
        return
    for names, cell in page.spent_by(step):
        scaled = [h for h in cell.fresh if h.scaled]
        if scaled:
            detail = f"spends gradients multiplied by {scaled[0].deposit.scaler}'s scale"
            yield Breach(step.at, detail, deposited(scaled), names)


RULE = Rule(
    code="GL402",
    name="step-on-scaled-gradients",
    severity=Severity.ERROR,
    law=Law.ONE_UNIT,
    seen_by=SeenBy.BOTH,
    says="this step spends gradients that are still multiplied by the scaler's scale",
    explains=(
        "The loss went through `scaler.scale()`, and the step did not go through "
        "`scaler.step()`, so the gradients were never divided by the scale. Calling "
        "`scaler.unscale_(optimizer)` and then a plain `optimizer.step()` is fine here."
    ),
    why=(
        "SGD moves 65536 times too far. Adam hides the factor, but its epsilon and weight decay "
        "no longer mean what they say, and steps with an overflow are taken instead of skipped."
    ),
    fix="call scaler.step(optimizer) and scaler.update() instead of optimizer.step()",
    symptom=(
        "the loss becomes NaN or huge after the first step, or mixed precision trains differently"
    ),
    broken=broken,
)
