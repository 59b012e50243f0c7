"""GL405: what each round unscales, and updates only behind a guard, is unscaled twice."""

from __future__ import annotations

from collections.abc import Collection

from gradledger.ledger.events import Read, Step, Unscale, Update
from gradledger.ledger.findings import Finding
from gradledger.static.ir.blocks import holds, pieces
from gradledger.static.ir.program import Branch, Do, Loop, Program, Sequence
from gradledger.static.solve.solver import Solution


def is_updated_behind_a_guard(
    finding: Finding, solution: Solution, options: Collection[str]
) -> bool:
    """Does a loop unscale in each round, and step and update only where a guard lets it?

    The guard is there for the batch that it holds back: the next round is the one that fails.
    """
    for piece in pieces(solution.program):
        body = piece.body if isinstance(piece, Loop) else None
        parts = body.parts if isinstance(body, Sequence) else ()
        each = [part.event for part in parts if isinstance(part, Do)]
        if any(isinstance(event, Unscale) and event.at == finding.at for event in each):
            updating = [part for part in parts if holds(part, Update)]
            return len(updating) == 1 and _is_guard(updating[0])
    return False


def _is_guard(program: Program) -> bool:
    """Does one way step and update, and the other drop what was deposited?"""
    if not isinstance(program, Branch):
        return False
    one, other = program.inner if holds(program.then, Update) else program.inner[::-1]
    return holds(one, Step) and holds(other, Read) and not holds(other, Step, Update)
