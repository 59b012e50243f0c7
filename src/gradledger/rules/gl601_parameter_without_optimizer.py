"""GL601: a trainable parameter gets gradients, and no optimizer owns it."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Step
from gradledger.rules.evidence import counted, deposited
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, step: Step) -> Iterator[Breach]:
    """Once more a step spends a part of what also lands in a cell without owner (Law 6)."""
    account = page.account(step.optimizer)
    trains_a_model = any(cell.traits.parameter for _, cell in page.owned_by(step.optimizer))
    if account is None or not trains_a_model:
        # Style transfer and attacks train their input: the network is only a yardstick.
        return
    for names, cell in page.groups:
        trainable = cell.traits.parameter and not cell.traits.frozen
        if cell.owners or cell.stands_in or not trainable:
            # What stands in for a replaced parameter is GL603.
            continue
        # The first time may be followed by an update by hand, or by another optimizer.
        orphans = [
            h for h in cell.fresh if step.optimizer in h.awaits and h.at in cell.wasted_sites
        ]
        if orphans:
            detail = f"leaves out {counted(len(names), 'parameter')} that the loss trains"
            yield Breach(account.made_at, detail, deposited(orphans[:1]), names)


RULE = Rule(
    code="GL601",
    name="parameter-without-optimizer",
    severity=Severity.ERROR,
    law=Law.OWNED,
    seen_by=SeenBy.RUN_AND_PLAIN_SOURCE,
    says=(
        "this optimizer leaves out parameters that get gradients, and no other optimizer has them"
    ),
    explains=(
        "A backward pass fills parameters of a module that require gradients, and none of the "
        "optimizers was given them: a layer that was forgotten, or added after the optimizer "
        "was made; or a net that is not meant to be trained (a target network, a net for a "
        "perceptual loss), and that wasn't frozen or detached. Inputs and other leaves that "
        "aren't a module's parameters aren't reported."
    ),
    why=(
        "These parameters are never trained. `optimizer.zero_grad()` does not clear them "
        "either, so their gradients add up forever, and computing them takes time and memory."
    ),
    fix=("pass these parameters to an optimizer, or freeze them with requires_grad_(False)"),
    symptom=(
        "a part of the model stays at its random start, and the loss levels off too high; or "
        "training is slower than the model's size explains"
    ),
    broken=broken,
)
