"""GL602: a trainable parameter of an optimizer never gets a gradient."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Gone, RunEnd
from gradledger.rules.evidence import counted
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, end: RunEnd | Gone) -> Iterator[Breach]:
    """At the end of a run that trained, an owned cell has never held a deposit (Law 6)."""
    if isinstance(end, RunEnd) and end.crashed:
        return
    for account in page.accounts:
        if not account.stepped or (isinstance(end, Gone) and account.name not in end.optimizers):
            continue
        owned = list(page.owned_by(account.name))
        if not any(cell.spent_sites for _, cell in owned):
            # Nothing of this optimizer was ever trained: each of its steps is a GL202.
            continue
        for names, cell in owned:
            if not (cell.deposited or cell.traits.frozen or cell.replaced_at):
                detail = f"has {counted(len(names), 'parameter')} that no loss ever reached"
                yield Breach(account.made_at, detail, cells=names)


RULE = Rule(
    code="GL602",
    name="parameter-without-gradient",
    severity=Severity.WARNING,
    law=Law.OWNED,
    seen_by=SeenBy.RUN,
    says="this optimizer has parameters that never got a gradient",
    explains=(
        "The parameter requires gradients and is in a param group, and in the whole run no "
        "backward pass reached it: a layer that the forward pass does not use, an output that "
        "the loss ignores, or a `detach()` or `no_grad()` too many."
    ),
    why=("That part of the model is never trained, although its author believes that it is."),
    fix="use the parameter in the loss, or take it out of the model",
    symptom=("a module that seems to have no effect; under DDP, an error about unused parameters"),
    broken=broken,
)
