"""GL606: .grad is used where it is None."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Read
from gradledger.rules.evidence import counted
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, read: Read) -> Iterator[Breach]:
    """Code needs a gradient from a cell that has none (Law 6)."""
    if not read.needed:
        return
    for names, cell in page.among(read.cells):
        if cell.is_none:
            when = "any more" if cell.deposited else "yet"
            what = counted(len(names), "parameter" if cell.traits.parameter else "tensor")
            detail = f"uses the gradient of {what} with none {when}"
            yield Breach(read.at, detail, cells=names)


RULE = Rule(
    code="GL606",
    name="none-gradient-used",
    severity=Severity.ERROR,
    law=Law.OWNED,
    seen_by=SeenBy.BOTH,
    says="`.grad` is used where it is None",
    explains=(
        "`.grad` is None before the first backward, after `zero_grad()` (which sets None unless "
        "told otherwise), for a parameter that the loss does not reach, and for a tensor that "
        "isn't a leaf (unless `retain_grad()` was called on it)."
    ),
    why=(
        "The program fails with an AttributeError or a TypeError, often only for one layer or in "
        "the second iteration."
    ),
    fix="read gradients between backward() and zero_grad(), and check for None",
    symptom=("AttributeError: 'NoneType' object has no attribute 'norm' (or 'data', 'zero_', …)"),
    broken=broken,
    stops=True,
)
