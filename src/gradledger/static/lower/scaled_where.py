"""Losses that are scaled under a condition: `if scaler is not None: loss = scaler.scale(loss)`.

The same condition often decides how the optimizer steps.
"""

from __future__ import annotations

from collections.abc import Callable

from gradledger.ledger.values import replace
from gradledger.static.domain.values import Known, Thing
from gradledger.static.lower.condition_keys import Ask, Condition, counts_rounds
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.domain.flow import Store
    from gradledger.static.lower.machine import Machine, Ways

SCALES = Pattern(r"\.scale\(", words=(".scale(",))


def both_ways(
    machine: Machine,
    node: ast.If,
    asked: Condition,
    one: Callable[[], None],
    other: Callable[[], None],
) -> Ways:
    """Both sides of an `if`. A loss that only one of them scales keeps the condition of that."""
    if not (isinstance(asked, Ask) and asked.name) or counts_rounds(asked):
        return machine.both(one, other)
    if not machine.context.scope.module.says(SCALES, node):
        return machine.both(one, other)
    ends: list[Store] = []

    def ending(write: Callable[[], None]) -> Callable[[], None]:
        def run() -> None:
            write()
            ends.append(machine.flow.store)

        return run

    ways = machine.both(ending(one), ending(other))
    for name, value in list(machine.flow.store.items()):
        scalers = [_scaler_of(end.get(name)) for end in ends]
        if isinstance(value, Thing) and value.scaler is None and None in scalers:
            for scaler, answer in zip(scalers, (asked.positive, not asked.positive), strict=True):
                if scaler is not None:
                    machine.set(name, replace(value, scaled_if=(asked.name, answer, scaler)))
    return ways


def _scaler_of(value: Known | None) -> str | None:
    return value.scaler if isinstance(value, Thing) else None
