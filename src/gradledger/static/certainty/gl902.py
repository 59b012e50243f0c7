"""GL902: a batch that failed leaves a part of a window, in the loop that spends it."""

from __future__ import annotations

from gradledger.ledger.findings import Finding
from gradledger.static.certainty.sight import Sight
from gradledger.static.ir.blocks import events_in


def fails_where_it_steps(finding: Finding, sight: Sight) -> bool | None:
    """What is tried ahead of the training, such as how large a batch may be, is no batch."""
    around = list(sight.around(finding.at))
    if not around:
        return True
    inside = {event.at for loop in around for event in events_in(loop)}
    return any(e.at in inside for e in finding.evidence if e.what == "deposited") or None
