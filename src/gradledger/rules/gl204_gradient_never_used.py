"""GL204: a loss fills cells whose owner always throws that away."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Evidence, Law, Page
from gradledger.ledger.cells import Cell, Holding
from gradledger.ledger.events import Clear
from gradledger.rules.evidence import deposited
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, clear: Clear) -> Iterator[Breach]:
    """Deposits of a call site are cleared as ever, and of use to other owners only (Law 2)."""
    for names, cell in page.among(clear.cells):
        wasted = [h for h in cell.fresh if _always_wasted(page, cell, h)]
        if cell.owners and wasted:
            used_by = users(page, wasted[0])
            evidence = (
                *deposited(wasted[:1]),
                Evidence("used", None, f"only by {', '.join(sorted(used_by))}"),
            )
            detail = "clears gradients that this optimizer never uses"
            yield Breach(clear.at, detail, evidence, names)


def _always_wasted(page: Page, cell: Cell, holding: Holding) -> bool:
    return (
        not holding.excused
        and holding.at in cell.wasted_sites
        and holding.at not in cell.spent_sites
        and bool(users(page, holding) - cell.owners)
    )


def users(page: Page, holding: Holding) -> frozenset[str]:
    """Who spends this backward: those that did, and those that will, as they did before."""
    before = frozenset(
        owner for _, cell in page.groups if holding.at in cell.spent_sites for owner in cell.owners
    )
    return holding.spent_by | holding.awaits & before


RULE = Rule(
    code="GL204",
    name="gradient-never-used",
    severity=Severity.INFO,
    law=Law.USED,
    seen_by=SeenBy.BOTH,
    says=("gradients are computed for these parameters in each iteration, and always thrown away"),
    explains=(
        "A backward pass also fills parameters of another optimizer, which clears them unspent "
        "each time. The update is correct, but the work is wasted. A GAN's generator step does "
        "this to the discriminator."
    ),
    why=(
        "Computing gradients that no step spends can take a third of the backward pass, and memory."
    ),
    fix=(
        "freeze those parameters with requires_grad_(False) for that backward, or name inputs= "
        "in it"
    ),
    symptom="training is slower than the model's size explains",
    broken=broken,
)
