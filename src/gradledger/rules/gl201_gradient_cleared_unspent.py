"""GL201: deposits are cleared before anybody has used them."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page, Place
from gradledger.ledger.events import CellNames, Clear
from gradledger.rules.evidence import counted, deposited, total
from gradledger.rules.rule import Rule, SeenBy, Severity
from gradledger.rules.tails import is_tail


def broken(page: Page, clear: Clear) -> Iterator[Breach]:
    """An owned cell loses fresh deposits of a backward that can no longer be used (Law 2)."""
    bad = _non_finite_sites(page, clear.cells)
    for names, cell in page.among(clear.cells):
        if cell.interrupted_at:
            continue  # a window that an exception hit is given up, also what came behind it
        lost = [
            h
            for h in cell.fresh
            if h.unspent
            and not (h.excused or is_tail(page, cell, h))
            and h.at not in bad
            and not _still_held(page, h.at, clear.cells)
        ]
        if cell.owners and lost:
            detail = f"clears {counted(total(lost), 'deposit')} that no step has used"
            yield Breach(clear.at, detail, deposited(lost), names)


def _non_finite_sites(page: Page, cleared: CellNames) -> set[Place]:
    """Call sites that brought a NaN or an Inf: to drop all of that is what a careful loop does."""
    held = (h for _, cell in page.among(cleared) for h in cell.fresh)
    return {h.at for h in held if not h.deposit.finite}


def _still_held(page: Page, site: Place, cleared: CellNames) -> bool:
    """Whether another owned cell holds a part of the same backward, to be spent later."""
    return any(
        cell.owners and any(h.at == site for h in cell.fresh) for _, cell in page.besides(cleared)
    )


RULE = Rule(
    code="GL201",
    name="gradient-cleared-unspent",
    severity=Severity.ERROR,
    law=Law.USED,
    seen_by=SeenBy.BOTH,
    says="this clears gradients that no step has used",
    explains=(
        "What a backward pass put into `.grad` is cleared before a step or any other code "
        "used it: `zero_grad()` between `backward()` and `step()`, or a `zero_grad()` for "
        "each micro-batch of a window, so that only the last one counts. Clearing is right "
        "after a step that the scaler skipped, after an exception, after a check for bad "
        "gradients, and when code has read the gradients."
    ),
    why=(
        "The backward pass is wasted: the model learns only from a part of the data, or not at all."
    ),
    fix=("clear before the first backward of the window or after its step, not in between"),
    symptom=(
        "the loss does not move, or accumulation over N batches learns no better than one batch"
    ),
    broken=broken,
)
