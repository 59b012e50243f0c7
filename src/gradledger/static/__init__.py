"""The static front end: programs of events, and what can happen on every path through them."""

from gradledger.static.interpreter import Interpreter, TooManyPaths
from gradledger.static.program import (
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
