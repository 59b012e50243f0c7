"""GL801: ranks step on their own gradients, if it is known of each backward that it is local."""

from __future__ import annotations

from gradledger.ledger.events import Backward
from gradledger.ledger.findings import Finding
from gradledger.static.certainty.sight import Sight
from gradledger.static.ir.blocks import events_in


def all_are_local(finding: Finding, sight: Sight) -> bool:
    """A backward that nobody knows to be averaged, may be."""
    return all(e.local for e in events_in(sight.program) if isinstance(e, Backward))
