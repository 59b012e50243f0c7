"""GL604: a step moves a parameter that got no deposit in this window."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Step
from gradledger.rules.evidence import counted, deposited, spent
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, step: Step) -> Iterator[Breach]:
    """A cell moves on zeros or an old gradient, while others have a fresh one (Law 6)."""
    groups = list(page.spent_by(step))
    if not any(cell.fresh for _, cell in groups):
        # A whole step without a deposit is GL202 or GL101.
        return
    for names, cell in groups:
        moved = names & step.moved
        if not moved or cell.fresh:
            continue
        if cell.zeros and not cell.holdings:
            detail = f"moves {counted(len(moved), 'parameter')} whose gradient is zeros, not None"
            yield Breach(step.at, detail, cells=moved)
        elif cell.traits.frozen and cell.holdings:
            detail = f"moves {counted(len(moved), 'frozen parameter')} by an old gradient"
            evidence = (*deposited(cell.holdings), *spent(cell.holdings))
            yield Breach(step.at, detail, evidence, moved)


RULE = Rule(
    code="GL604",
    name="moved-without-gradient",
    severity=Severity.WARNING,
    law=Law.OWNED,
    seen_by=SeenBy.RUN,
    says="this step moves parameters that got no gradient in this window",
    explains=(
        "A parameter whose gradient is None is skipped by the step. One whose gradient is zeros "
        "is not: momentum, Adam's moments and weight decay still move it. So does the old "
        "gradient of a parameter that was frozen without clearing it. This matters if only a part "
        "of the model takes part in each step."
    ),
    why=(
        "Heads, experts or layers that should rest drift away: the tasks that are trained more "
        "often degrade the others."
    ),
    fix=("clear to None (the default of zero_grad), and clear a parameter when you freeze it"),
    symptom="a task gets worse while another one is trained; frozen layers change",
    broken=broken,
)
