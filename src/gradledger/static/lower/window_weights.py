"""Whether a loss was divided by the number of micro-batches in a window."""

from __future__ import annotations

from gradledger.ledger.events import Weight
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import WINDOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def by_window(machine: Machine, weight: Weight) -> bool:
    """Is it divided by the number of micro-batches in a window?"""
    if isinstance(weight.divisor, str):
        return bool(WINDOW.search(weight.divisor))
    if weight.divisor in (None, 1) or weight.divided_at is None:
        return False
    module = machine.context.scope.module
    if weight.divided_at.path != module.path:
        return False
    size = f"{weight.divisor:g}"
    given = Pattern(rf"(accumulate_grad_batches|gradient_accumulation_steps)\s*=\s*{size}\b")
    line = module.lines[weight.divided_at.line - 1]
    return bool(WINDOW.search(line) or given.search(module.source))
