"""GL404: the scale changed inside of a window, if all of its losses reach the same cells."""

from __future__ import annotations

from gradledger.ledger.events import Backward
from gradledger.ledger.findings import Finding
from gradledger.static.certainty.sight import Sight
from gradledger.static.ir.blocks import events_in
from gradledger.static.ir.keys import within


def nobody_has_a_part(finding: Finding, sight: Sight) -> bool:
    """Where another optimizer has a part of the net, one of several losses may reach no more."""
    around = (events_in(loop) for loop in sight.around(finding.at))
    losses = {event.at for loop in around for event in loop if isinstance(event, Backward)}
    return len(losses) == 1 or not any(
        within(part, whole) and part != whole
        for whole in finding.cells
        for cells in sight.owned.values()
        if whole not in cells
        for part in cells
    )
