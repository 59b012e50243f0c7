"""GL501: a clip comes to nothing, if it is seen that no step has yet to spend what it changes."""

from __future__ import annotations

from gradledger.ledger.events import Backward, Edit, Step
from gradledger.ledger.findings import Finding
from gradledger.static.certainty.sight import Sight
from gradledger.static.ir.blocks import holds, pieces
from gradledger.static.ir.program import Do, Program, Sequence


def comes_to_nothing(finding: Finding, sight: Sight) -> bool | None:
    """Is it seen what is deposited, or does the clip follow on a step of its owner?

    Behind that all is spent, whichever backward brought it.
    """
    return True if sight.sees_all or _follows_its_step(finding, sight) else None


def _follows_its_step(finding: Finding, sight: Sight) -> bool:
    owners = {owner for owner, cells in sight.owned.items() if finding.cells <= cells}
    return sight.all_known and any(
        _is_spent(finding, owners, piece)
        for loop in sight.around(finding.at)
        for piece in pieces(loop)
    )


def _is_spent(finding: Finding, owners: set[str], block: Program) -> bool:
    """Does an owner step ahead of this clip, with no deposit in between?"""
    spent = False
    for part in block.parts if isinstance(block, Sequence) else ():
        match part:
            case Do(event) if event.at == finding.at:
                return spent
            case Do(Step(optimizer=optimizer)) if optimizer in owners:
                spent = True
            case _ if holds(part, Backward, Edit):
                spent = False
    return False
