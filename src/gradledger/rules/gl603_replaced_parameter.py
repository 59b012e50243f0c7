"""GL603: the optimizer holds a tensor that is no longer the model's."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Step
from gradledger.rules.evidence import also, counted
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, step: Step) -> Iterator[Breach]:
    """A step works on a cell whose parameter the model has exchanged (Law 6)."""
    account = page.account(step.optimizer)
    for names, cell in page.owned_by(step.optimizer):
        if cell.replaced_at is not None:
            detail = (
                f"replaces {counted(len(names), 'parameter')} that {step.optimizer} still holds"
            )
            evidence = (
                *also("optimizer made", account.made_at if account else None),
                *also("spent", step.at),
            )
            yield Breach(cell.replaced_at, detail, evidence, names)


RULE = Rule(
    code="GL603",
    name="replaced-parameter",
    severity=Severity.ERROR,
    law=Law.OWNED,
    seen_by=SeenBy.RUN_AND_PLAIN_SOURCE,
    says=("the model's parameters are replaced here, and the optimizer still holds the old ones"),
    explains=(
        "An optimizer keeps the tensors that it was given. When a layer is replaced afterwards "
        "(a new head for fine-tuning, `model.fc = nn.Linear(…)`, weights assigned as new "
        "Parameters), the optimizer keeps the old ones, which are no longer in any model."
    ),
    why=(
        "The new layer is never trained, and its gradients are never cleared. The loss still "
        "falls a little, thanks to the rest."
    ),
    fix=(
        "make the optimizer after the last change to the model, or add_param_group the new "
        "parameters"
    ),
    symptom="fine-tuning that does not learn; the new layer's weights never change",
    broken=broken,
)
