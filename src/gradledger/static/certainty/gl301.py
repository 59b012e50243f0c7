"""GL301 and GL302 where the source says how large a window is, and what its losses are divided by.

The pages count to two. A window of 4 that is divided by 2 is not told from one that is divided
by 4 there; here it is. `0.5 * loss` divides by 2 as well, and so does no window of another size.
"""

from __future__ import annotations

from collections.abc import Collection

from gradledger.ledger.events import Backward
from gradledger.ledger.findings import Finding
from gradledger.static.certainty.sight import Sight
from gradledger.static.ir import condition_names
from gradledger.static.ir.blocks import events_in, pieces
from gradledger.static.ir.program import Loop, Program, Tick
from gradledger.static.solve.solver import Solution


def is_not_divided_by_all(finding: Finding, solution: Solution, options: Collection[str]) -> bool:
    """Is the window known to be larger than what its losses are divided by?"""
    known = _known(finding, solution.program)
    return known is not None and 1 < known[0] < known[1]


def may_be_too_many(finding: Finding, sight: Sight) -> bool | None:
    """Leaves out a window whose losses are divided by its size, or by more."""
    known = _known(finding, sight.program)
    return None if known is not None and known[0] >= known[1] else True


def may_be_cut_short(finding: Finding, sight: Sight) -> bool | None:
    """Leaves out a window whose losses are divided by something else than its size."""
    known = _known(finding, sight.program)
    return None if known is not None and known[0] not in (1, known[1]) else True


def _known(finding: Finding, program: Program) -> tuple[float, int] | None:
    """What the losses of a window are divided by, and how many there are."""
    sizes, divisors = set(), set()
    for piece in pieces(program):
        if isinstance(piece, Loop):
            own = [e for e in events_in(piece) if isinstance(e, Backward) and e.at == finding.at]
            if own:
                divisors |= {e.weight.divisor for e in own}
                sizes |= {_size(tick) for tick in pieces(piece) if isinstance(tick, Tick)}
    if len(sizes) != 1 or len(divisors) != 1:
        return None
    size, divisor = sizes.pop(), divisors.pop()
    if size is None or not isinstance(divisor, int | float):
        return None
    nearest = round(divisor)
    return (nearest if abs(divisor - nearest) < 1e-3 * divisor else divisor), size


def _size(tick: Tick) -> int | None:
    size = condition_names.size_of(condition_names.window_of(tick.ends) or "")
    return int(size) if size.isdecimal() else None
