"""GL401: a clip meets scaled gradients, if nothing has unscaled them since the last backward."""

from __future__ import annotations

from gradledger.ledger.events import Backward, Event, Unscale
from gradledger.ledger.findings import Finding
from gradledger.static.certainty.sight import Sight, last_before


def is_still_scaled(finding: Finding, sight: Sight) -> bool:
    """No unscale comes between the last backward and the clip."""

    def counts(event: Event) -> bool:
        return isinstance(event, Unscale | Backward)

    last = (last_before(finding.at, loop, counts) for loop in sight.around(finding.at))
    return not any(isinstance(event, Unscale) for event in last)
