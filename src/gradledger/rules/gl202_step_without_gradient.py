"""GL202: a step finds nothing to spend."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Step
from gradledger.rules.evidence import cleared
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, step: Step) -> Iterator[Breach]:
    """No cell of this optimizer holds a deposit (Law 2)."""
    groups = list(page.spent_by(step))
    if not groups or any(cell.holdings for _, cell in groups):
        return
    zeros = any(cell.zeros for _, cell in groups)
    detail = "finds only zeros" if zeros else "finds no gradient in any of its parameters"
    cells = frozenset().union(*(names for names, _ in groups))
    yield Breach(step.at, detail, cleared(cell for _, cell in groups), cells)


RULE = Rule(
    code="GL202",
    name="step-without-gradient",
    severity=Severity.WARNING,
    law=Law.USED,
    seen_by=SeenBy.BOTH,
    says="this step has no gradient to spend",
    explains=(
        "No backward pass has reached any of the optimizer's parameters since they were last "
        "cleared: the step comes before the first backward, or right after `zero_grad()`, or "
        "the loss does not depend on these parameters."
    ),
    why=(
        "With gradients of None the step does nothing. With zeros it still moves the weights by "
        "momentum and weight decay. Either way, a scheduler that counts steps runs ahead of the "
        "training."
    ),
    fix="call loss.backward() between zero_grad() and step(), or leave this step out",
    symptom="the loss stays exactly the same, or the first update is missing",
    broken=broken,
    yields_to=("GL201", "GL603"),
)
