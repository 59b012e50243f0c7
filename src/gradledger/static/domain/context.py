"""What is around the code at hand: the call, the loops and the `with` blocks that it stands in."""

from __future__ import annotations

from gradledger.ledger.events import Event
from gradledger.ledger.values import Value
from gradledger.static.domain.scopes import LoopState, Scope
from gradledger.static.ir.keys import NO_KEYS, Keys
from gradledger.static.source import syntax as ast


class Context(Value):
    """Changed for a block, a call, a loop or a `with`, at whose end all of it is as before."""

    scope: Scope
    loops: tuple[LoopState, ...] = ()
    stack: tuple[int, ...] = ()
    """The functions that are being followed, by identity."""
    grad_enabled: bool = True
    grad_in_doubt: bool = False
    """Something around may have switched the recording of graphs off."""
    autocast: bool = False
    """Whether this is inside of `with autocast`."""
    local: bool | None = None
    """Inside `no_sync`, or of two ways the one without it."""
    no_sync_maybe: bool = False
    """Inside of what may be a `no_sync`."""
    accumulating: str = ""
    """Inside `accelerator.accumulate`: the condition under which its optimizers act."""
    fresh: frozenset[str] = frozenset()
    """In a loop over something else than data: names that were given for the data at hand."""
    each_once: frozenset[str] = frozenset()
    """Names that are another one of a collection of optimizers, or its key, in each round."""
    in_parameters: int = 0
    """How many loops over parameters this is inside of."""
    guarded: Keys = NO_KEYS
    """Of these loops: whose single parameters were asked whether they have a gradient."""
    partly: bool = False
    """Inside of one, and of a condition on the single parameter."""
    unpacked: tuple[ast.AST | None, int] = (None, 0)
    """The call whose result is unpacked at once, and into how many names."""
    ended: list[tuple[str, Event]] = []  # noqa: RUF012 - each block of statements has its own
    """Loops over data in the block at hand, and that their data has ended."""
