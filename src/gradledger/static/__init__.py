"""The static front end: programs of events, and what can happen on every path through them."""

from gradledger.static.ir.program import (
    Branch,
    Call,
    Do,
    Forget,
    Leave,
    Loop,
    Program,
    Require,
    Sequence,
    Tick,
    Try,
)
from gradledger.static.solve.interpreter import Interpreter, TooManyPaths

__all__ = [
    "Branch",
    "Call",
    "Do",
    "Forget",
    "Interpreter",
    "Leave",
    "Loop",
    "Program",
    "Require",
    "Sequence",
    "Tick",
    "TooManyPaths",
    "Try",
]
