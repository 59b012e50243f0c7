"""GL101: a step spends deposits that the same optimizer has spent before."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import BY_HAND, Step
from gradledger.rules.evidence import NEVER_CLEARED, counted, deposited, spent, total
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, step: Step) -> Iterator[Breach]:
    """Some cell still holds what this optimizer already spent (Law 1)."""
    for names, cell in page.spent_by(step):
        # A frozen parameter with an old gradient is GL604: a clear is not its cure.
        stale = [h for h in cell.holdings if step.optimizer in h.spent_by]
        if step.optimizer == BY_HAND and not cell.fresh:
            continue  # a line search: other lengths of one step, along one gradient
        if stale and not cell.traits.frozen:
            old = total(stale)
            detail = (
                f"spends {counted(total(cell.holdings), 'deposit')}, {old} of them spent before"
            )
            evidence = (*deposited(stale), *spent(stale), NEVER_CLEARED)
            yield Breach(step.at, detail, evidence, names)


RULE = Rule(
    code="GL101",
    name="spent-gradient-reused",
    severity=Severity.ERROR,
    law=Law.ONCE,
    seen_by=SeenBy.BOTH,
    says="this step spends gradients that an earlier step already spent",
    explains=(
        "`backward()` adds to `.grad`, and `step()` leaves it there. Unless something clears "
        "it, the next backward adds on top, and the next step uses the sum of the new gradient "
        "and all earlier ones. A `zero_grad()` before the loop, or only in one branch, is not "
        "enough. Several backward passes before one step aren't reported: accumulation spends each "
        "deposit once."
    ),
    why=(
        "Every update also repeats all updates before it. With SGD, that is a momentum of 1: the "
        "weights run past the minimum and oscillate. Adaptive optimizers hide the size of the "
        "error, but still follow a direction that is mostly history. There is no error message; "
        "the model is just worse."
    ),
    fix=("call optimizer.zero_grad() once per window, before its first backward or after its step"),
    symptom=(
        "the loss falls at first, then oscillates or diverges; a smaller learning rate seems to "
        "help"
    ),
    broken=broken,
)
