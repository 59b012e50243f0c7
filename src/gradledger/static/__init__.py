"""The static front end: programs of events, and what can happen on every path through them."""

from gradledger.static.interpreter import Interpreter, TooManyPaths
from gradledger.static.program import Branch, Do, Forget, Loop, Program, Sequence

__all__ = [
    "Branch",
    "Do",
    "Forget",
    "Interpreter",
    "Loop",
    "Program",
    "Sequence",
    "TooManyPaths",
]
