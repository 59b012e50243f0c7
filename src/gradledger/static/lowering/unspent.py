"""Loops that deposit and clear, and never step: is it sure that nobody does, or looks?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from gradledger.ledger.events import Event
from gradledger.static.lowering.conditions import called_name
from gradledger.static.lowering.effects import (
    Clears,
    Clips,
    Deposits,
    Edits,
    HandsOver,
    Reads,
    Spends,
)
from gradledger.static.lowering.values import Optimizer
from gradledger.static.module import Module
from gradledger.static.patterns import Pattern

MEASURES = Pattern(
    r"perf_counter|time\.time\(|cuda\.Event|memory_allocated|benchmark|[pP]rofile|timeit"
)
"""Words of code that computes gradients to see how long that takes."""

EPOCHS = Pattern(r"epoch", re.IGNORECASE)
"""Without them, it is no training: somebody tries how large a batch may be, or whether it runs."""

LEAVES_ALONE = Pattern(
    r"(LR|Parallel|DDP)$|^(prepare|compile|print|len|id|type|isinstance|save|next|range)$|[sS]chedule"
)
"""Who is handed a model or an optimizer, and neither steps nor looks at gradients."""


def cleared_alone(
    optimizers: dict[str, Optimizer], effects: Iterable[Event]
) -> dict[str, Optimizer]:
    """The optimizers that are made here, and that nobody in sight does more with than to clear.

    None, if anybody steps or looks: then what is deposited is for others, or for that look.
    """
    clearing = set()
    for effect in effects:
        if isinstance(effect, Spends | HandsOver | Reads | Edits | Clips):
            return {}
        if isinstance(effect, Deposits) and effect.weight.framework_divides:
            return {}  # and it steps, too
        if isinstance(effect, Clears) and effect.optimizer:
            clearing.add(effect.optimizer)
    made = {n: o for n, o in optimizers.items() if n in clearing and o.torchs and o.keys}
    return {n: o for n, o in made.items() if not o.outside}


def may_be_used(module: Module, optimizers: Iterable[Optimizer]) -> bool:
    """Can anything in the file step, look at gradients, or hand them to somebody out of sight?"""
    if module.says_anywhere(MEASURES) or not module.says_anywhere(EPOCHS):
        return True
    keys = {key for optimizer in optimizers for key in optimizer.keys or ()}
    held = {key.rpartition(":")[2] for key in keys} | {o.name for o in optimizers}
    return any(_may_use(node, held) for node in ast.walk(module.tree))


def _may_use(node: ast.AST, held: set[str]) -> bool:
    match node:
        case ast.Attribute(value=owner, attr="grad"):
            return not ast.unparse(owner).endswith("autograd")
        case ast.Call(func=ast.Attribute(value=owner, attr="step")):
            return "sched" not in ast.unparse(owner).lower()
        case ast.Call(func=func, args=args, keywords=named):
            if "hook" in called_name(func):
                return True
            given = [ast.unparse(a) for a in (*args, *(k.value for k in named))]
            return not held.isdisjoint(given) and not LEAVES_ALONE.search(called_name(func))
        case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
            return any(isinstance(n, ast.Name) and n.id in held for n in ast.walk(value))
    return False
