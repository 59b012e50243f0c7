"""GL203: a window is left over, if its gradients are of no use to another optimizer."""

from __future__ import annotations

from gradledger.ledger.findings import Finding
from gradledger.static.certainty.sight import Sight


def is_left_over(finding: Finding, sight: Sight) -> bool | None:
    """What one optimizer leaves over may be what another has no use for."""
    return True if sight.one_steps(finding.at) else None
