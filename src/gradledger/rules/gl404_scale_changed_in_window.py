"""GL404: the deposits of one window have different scales."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page, Place
from gradledger.ledger.cells import Cell, Holding
from gradledger.ledger.events import Step, Unscale
from gradledger.rules.evidence import deposited
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, event: Step | Unscale) -> Iterator[Breach]:
    """Scaled deposits are spent, or unscaled, together with others of another scale (Law 4)."""
    if isinstance(event, Unscale):
        yield from _unscaled_together(page, event)
        return
    for names, cell in page.spent_by(event):
        fresh = _untouched(cell)
        scaled = [h for h in fresh if h.scaled]
        if not scaled:
            continue
        if len(scaled) < len(fresh) or len({h.deposit.scaler for h in scaled}) > 1:
            detail = "spends gradients of different scales in one step"
            yield Breach(_breaker(fresh), detail, deposited(fresh), names)
        elif changed_at := scaled[0].rescaled_at:
            detail = "may change the scale between a backward and the step that spends it"
            yield Breach(changed_at, detail, deposited(scaled), names)


def _unscaled_together(page: Page, unscale: Unscale) -> Iterator[Breach]:
    """What is not scaled, or not any more, is divided by the scale with the rest, and all but
    vanishes."""
    if any(name == unscale.optimizer for name, _ in page.scaler(unscale.scaler).unscaled):
        return  # torch refuses that (GL405)
    if unscale.puts_aside:
        return
    for names, cell in page.owned_by(unscale.optimizer):
        fresh = [h for h in _untouched(cell) if not h.skipped]
        if any(h.scaled for h in fresh) and not all(h.scaled for h in fresh):
            detail = "is unscaled together with gradients of another scale"
            yield Breach(_breaker(fresh), detail, deposited(fresh), names)


def _untouched(cell: Cell) -> list[Holding]:
    """Fresh deposits whose scale is known: by hand, it may have been changed."""
    return [h for h in cell.fresh if not (h.deposit.by_hand or h.edited)]


def _breaker(fresh: list[Holding]) -> Place:
    """The call that broke the unit: an unscale, else the first backward of another unit."""
    for holding in fresh:
        if holding.unscaled_at is not None:
            return holding.unscaled_at
    return next((h.at for h in fresh if h.deposit.scaler != fresh[0].deposit.scaler), fresh[-1].at)


RULE = Rule(
    code="GL404",
    name="scale-changed-in-window",
    severity=Severity.ERROR,
    law=Law.ONE_UNIT,
    seen_by=SeenBy.BOTH,
    says="the gradients that one step spends are not all of one scale",
    explains=(
        "All deposits of a window have to carry the same factor, or the sum is meaningless. This "
        "fails when `unscale_` is called in the middle of a window, when `update()` is called "
        "between the steps of two optimizers that one backward fed, or when one of several "
        "losses goes through `scaler.scale()` and another does not."
    ),
    why=(
        "One part of the gradient weighs up to 65536 times as much as the other, and the ratio "
        "changes whenever the scaler adapts. The penalty or the second loss doesn't have the "
        "intended effect."
    ),
    fix=("scale every loss of the window, and unscale and update once, after its last backward"),
    symptom="a regulariser or an auxiliary loss without effect under mixed precision",
    broken=broken,
    yields_to=("GL402",),
)
