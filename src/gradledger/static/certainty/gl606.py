"""GL606: there is no gradient to read, if no backward comes before it without a clear."""

from __future__ import annotations

from gradledger.ledger.events import Backward, Clear, Event
from gradledger.ledger.findings import Finding
from gradledger.static.certainty.sight import Sight, last_before


def none_is_there(finding: Finding, sight: Sight) -> bool:
    """No backward comes before it without a clear in between."""

    def counts(event: Event) -> bool:
        if isinstance(event, Clear):
            return not event.cells.isdisjoint(finding.cells)
        return isinstance(event, Backward)

    last = (last_before(finding.at, loop, counts) for loop in sight.around(finding.at))
    return not any(isinstance(event, Backward) for event in last)
