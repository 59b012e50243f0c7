"""GL603: an optimizer has a layer that was exchanged, if a step follows on that."""

from __future__ import annotations

from collections.abc import Collection

from gradledger.ledger.events import Replace, Step
from gradledger.ledger.findings import Finding
from gradledger.static.ir.blocks import events_in, pieces
from gradledger.static.ir.program import Loop
from gradledger.static.solve.solver import Solution


def is_exchanged_between_steps(
    finding: Finding, solution: Solution, options: Collection[str]
) -> bool:
    """Does a loop that steps exchange it in some round? The next step has the old one still.

    Until some round exchanges it, the optimizer has all that there is.
    """
    loops = (piece for piece in pieces(solution.program) if isinstance(piece, Loop))
    for loop in loops:
        events = list(events_in(loop.body))
        exchanges = any(isinstance(e, Replace) and e.at == finding.at for e in events)
        if exchanges and any(isinstance(e, Step) for e in events):
            return True
    return False
