"""Optimizers that only ever clear: nobody in sight steps with them, or looks at what they drop."""

from __future__ import annotations

from collections.abc import Iterable

from gradledger.ledger.events import Event
from gradledger.static.domain.values import Optimizer
from gradledger.static.ir.effects import (
    Clears,
    Clips,
    Deposits,
    Edits,
    HandsOver,
    Reads,
    Spends,
)


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
