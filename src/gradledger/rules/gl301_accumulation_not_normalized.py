"""GL301: a window of N mean losses is not divided by N."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Evidence, Law, Page
from gradledger.ledger.events import BY_HAND, Step
from gradledger.rules.evidence import counted
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, step: Step) -> Iterator[Breach]:
    """A regular accumulation of means holds more micro-batches than each was divided by (Law 3)."""
    if step.optimizer == BY_HAND:
        return  # its update may divide: `p -= lr * p.grad / n`
    for names, cell in page.spent_by(step):
        window = cell.accumulation
        if window is None or not window.regular or not window.all_means:
            continue
        batches = window.batches(page.counting)
        weights = (h.deposit.weight for h in window.holdings)
        if any(weight.summed and weight.items == batches for weight in weights):
            continue  # was it divided by its items, or by the window? Unknown
        # More of them than the divisor; floats (1 / 0.25) may be a hair off.
        too_many = page.counting.at_least(batches, max(2, window.divisor * 1.001))
        if too_many is False:
            continue
        divided = f"divided by {window.divisor:g}" if window.divisor != 1 else "none divided"
        detail = f"adds up {counted(batches, 'mean')}, {divided}"
        evidence = (Evidence("deposited", window.at), Evidence("spent", step.at))
        yield Breach(window.at, detail, evidence, names, sure=too_many is True)


RULE = Rule(
    code="GL301",
    name="accumulation-not-normalized",
    severity=Severity.ERROR,
    law=Law.WEIGHED,
    seen_by=SeenBy.BOTH,
    says="mean losses are added up over a window and not divided by its size",
    explains=(
        "Each micro-batch's loss is a mean, and N of them are added up before the step: the "
        "gradient is N times that of the big batch that the window replaces. Several "
        "different losses, each with its own backward, are a sum by design and aren't reported, "
        "nor is a loop over tasks within one batch."
    ),
    why=(
        "The update is N times too large, so the learning rate that suited one batch does not "
        "suit the window, and clipping takes effect in nearly every step. Changing N then changes "
        "the training."
    ),
    fix="divide the loss by the number of micro-batches before backward()",
    symptom=(
        "accumulation trains worse than a small batch, or diverges; the loss jumps when N is raised"
    ),
    broken=broken,
)
