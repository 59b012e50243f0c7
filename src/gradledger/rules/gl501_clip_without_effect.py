"""GL501: gradients are clipped where no step will see it."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Breach, Law, Page
from gradledger.ledger.events import Clip
from gradledger.rules.evidence import cleared, deposited, spent
from gradledger.rules.rule import Rule, SeenBy, Severity


def broken(page: Page, clip: Clip) -> Iterator[Breach]:
    """No cell that is clipped holds anything that a step has yet to spend (Law 5)."""
    groups = list(page.among(clip.cells))
    if not clip.changes or not groups or any(cell.fresh for _, cell in groups):
        return
    old = [h for _, cell in groups for h in cell.holdings]
    detail = (
        "clips gradients that are already spent" if old else "clips before anything is deposited"
    )
    cells = frozenset().union(*(names for names, _ in groups))
    evidence = (*deposited(old), *spent(old)) if old else cleared(cell for _, cell in groups)
    yield Breach(clip.at, detail, evidence, cells)


RULE = Rule(
    code="GL501",
    name="clip-without-effect",
    severity=Severity.ERROR,
    law=Law.IN_ORDER,
    seen_by=SeenBy.BOTH,
    says="this clip changes nothing that a step will use",
    explains=(
        "Clipping changes `.grad` in place, so it has to come between the last `backward()` of "
        "the window and the `step()`. After the step, or before the backward, it works on "
        "gradients that are already spent or don't exist yet."
    ),
    why=(
        "Training runs without the clipping that its author relies on. One exploding batch is "
        "enough to ruin the weights."
    ),
    fix="move the clip between the last backward() and step()",
    symptom="loss spikes or NaN although clipping is on; changing max_norm changes nothing",
    broken=broken,
    yields_to=("GL201",),
)
