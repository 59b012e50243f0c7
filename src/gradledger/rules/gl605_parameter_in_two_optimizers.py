"""GL605: two optimizers own one parameter, and both step."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Step
from gradledger.rules.evidence import also, counted
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, step: Step) -> Iterator[Breach]:
    """A cell has two owners that step in turn (Law 6)."""
    account = page.account(step.optimizer)
    if account is None or not account.stepped or step.left_to_others:
        return
    for names, cell in page.owned_by(step.optimizer):
        rivals = cell.owners & account.others_since
        if rivals:
            owners = [a for a in page.accounts if a.name in rivals or a.name == account.name]
            shared = counted(len(names), "parameter")
            detail = f"shares {shared} with {owners[0].name}, and both of them step"
            yield Breach(
                owners[-1].made_at, detail, also("other optimizer", owners[0].made_at), names
            )


RULE = Rule(
    code="GL605",
    name="parameter-in-two-optimizers",
    severity=Severity.WARNING,
    law=Law.OWNED,
    seen_by=SeenBy.RUN,
    says="this optimizer shares parameters with another one, and both of them step",
    explains=(
        "The same parameter is in the param groups of two optimizers that are used in turn. "
        "Optimizers for different phases of training, one after the other, are fine."
    ),
    why=(
        "Each has its own moments and its own weight decay: the parameter is moved twice for "
        "one gradient, decayed twice, and neither optimizer knows of the other's steps."
    ),
    fix=("give each parameter to one optimizer; use param groups for different learning rates"),
    symptom="some layers learn or shrink faster than their learning rate explains",
    broken=broken,
)
