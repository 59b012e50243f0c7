"""GL401: gradients are clipped, or their norm is read, while they carry the scaler's factor."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Clip
from gradledger.rules.evidence import deposited
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, clip: Clip) -> Iterator[Breach]:
    """A cell that is looked at holds fresh deposits which are still scaled (Law 4)."""
    for names, cell in page.among(clip.cells):
        scaled = [h for h in cell.fresh if h.scaled and h.deposit.scaler != clip.unit]
        if scaled:
            verb = "clips" if clip.changes else "reads the norm of"
            detail = (
                f"{verb} gradients that are still multiplied by {scaled[0].deposit.scaler}'s scale"
            )
            yield Breach(clip.at, detail, deposited(scaled), names)


RULE = Rule(
    code="GL401",
    name="clip-on-scaled-gradients",
    severity=Severity.ERROR,
    law=Law.ONE_UNIT,
    seen_by=SeenBy.BOTH,
    says="gradients are clipped (or their norm is read) while they are still scaled",
    explains=(
        "Between `scaler.scale(loss).backward()` and `scaler.unscale_(optimizer)` every "
        "gradient is multiplied by the scale, often 65536. A threshold of 1.0 there means "
        "1/65536. `scaler.step()` unscales by itself, but only after the clip. With apex, "
        "gradients are scaled inside `with amp.scale_loss`, and unscaled after it."
    ),
    why=(
        "Nearly every step is clipped, to a tiny norm that changes whenever the scale does. "
        "Adaptive optimizers hide it for a while; SGD nearly stops. A norm that is logged "
        "there mostly shows the scale, not the gradients."
    ),
    fix="call scaler.unscale_(optimizer) before clipping or reading the norm",
    symptom=(
        "gradient norms in the tens of thousands, or training that barely moves with mixed "
        "precision on"
    ),
    broken=broken,
    yields_to=("GL402",),
)
