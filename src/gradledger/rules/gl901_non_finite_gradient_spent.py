"""GL901: a step spends NaN or Inf."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Step
from gradledger.rules.evidence import deposited
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, step: Step) -> Iterator[Breach]:
    """A cell that is spent holds a NaN or an Inf (Law 9)."""
    for names, cell in page.spent_by(step):
        bad = [h for h in cell.fresh if not h.deposit.finite]
        cells = names if bad else names & step.non_finite
        if cells and cell.fresh:
            detail = f"spends a NaN or an Inf, in {min(cells)} first"
            yield Breach(step.at, detail, deposited(bad or cell.fresh), cells)


RULE = Rule(
    code="GL901",
    name="non-finite-gradient-spent",
    severity=Severity.ERROR,
    law=Law.WHOLE,
    seen_by=SeenBy.RUN,
    says="this step spends a gradient that is NaN or Inf",
    explains=(
        "One bad value in a batch (a logarithm of 0, a division by 0, an overflow) makes the "
        "whole gradient NaN, and a plain loop doesn't check it before the step."
    ),
    why=(
        "The weights are NaN from then on, and so is everything computed with them. All training "
        "since the last checkpoint is lost."
    ),
    fix=(
        "skip the step when the norm that clip_grad_norm_ returns is not finite, and fix the "
        "loss that caused it"
    ),
    symptom="the loss is NaN from one iteration on and never comes back",
    broken=broken,
)
