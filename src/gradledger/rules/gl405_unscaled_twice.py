"""GL405: unscale_() is called twice for one optimizer before update()."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Unscale
from gradledger.rules.evidence import also
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, unscale: Unscale) -> Iterator[Breach]:
    """The scaler has already unscaled this optimizer since its latest update (Law 4)."""
    log = page.scaler(unscale.scaler)
    first = dict(log.unscaled).get(unscale.optimizer)
    # After a step it is the missing update that has to be told: GL403.
    if first is not None and unscale.optimizer not in dict(log.stepped):
        detail = f"{unscale.scaler} has already unscaled {unscale.optimizer}"
        yield Breach(unscale.at, detail, also("unscaled", first))


RULE = Rule(
    code="GL405",
    name="unscaled-twice",
    severity=Severity.ERROR,
    law=Law.ONE_UNIT,
    seen_by=SeenBy.BOTH,
    says="unscale_() is called a second time for the same optimizer before update()",
    explains=(
        "A GradScaler unscales an optimizer's gradients at most once between two updates, and "
        "raises on a second call. It happens when `unscale_` is called with the clip in every "
        "micro-batch of a window, or once for clipping and once more for logging."
    ),
    why=(
        "Training stops with a RuntimeError. If it were allowed, the gradients would be divided by "
        "the scale twice."
    ),
    fix="call unscale_() once per window, after its last backward",
    symptom=(
        "RuntimeError: unscale_() has already been called on this optimizer since the last update()"
    ),
    broken=broken,
    stops=True,
)
