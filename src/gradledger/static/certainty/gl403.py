"""GL403: a scaler is not updated, if nothing that may be the same scaler is."""

from __future__ import annotations

from gradledger.ledger.events import Step, Update
from gradledger.ledger.findings import Finding
from gradledger.static.certainty.sight import Sight
from gradledger.static.ir.blocks import events_in


def is_not_updated(finding: Finding, sight: Sight) -> bool:
    """With several optimizers: nothing updates the scaler, and each that is updated steps itself.

    One that only updates may be the same, under another name.
    """
    if sight.one_steps(finding.at):
        return True
    steps = [e for e in events_in(sight.program) if isinstance(e, Step) and e.scaler is not None]
    updated = {e.scaler for e in events_in(sight.program) if isinstance(e, Update)}
    left = {e.scaler for e in steps if e.at == finding.at}
    return left.isdisjoint(updated) and updated <= {e.scaler for e in steps}
