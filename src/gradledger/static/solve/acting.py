"""Does anything happen in a round of a loop? One in which nothing does is none."""

from __future__ import annotations

from gradledger.ledger.events import Batch, Read
from gradledger.static.ir.program import Branch, Call, Do, Leave, Loop, Program, Sequence

IDLE = (Batch, Read)
"""Going on to other data, or looking at what is there: a round of that alone is none."""


def always_acts(program: Program) -> bool:
    """Does something happen in it on every path?"""
    match program:
        case Do(event):
            return not isinstance(event, IDLE)
        case Sequence(parts):
            for part in parts:
                if always_acts(part):
                    return True
                if _may_leave(part):
                    return False
            return False
        case Branch(then, orelse):
            return always_acts(then) and always_acts(orelse)
        case Call(body):
            return always_acts(body)
        case Loop(body, at_least):
            return at_least > 0 and always_acts(body)
        case _:
            return False


def _may_leave(program: Program) -> bool:
    return isinstance(program, Leave) or any(map(_may_leave, program.inner))
