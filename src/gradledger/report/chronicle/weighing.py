"""The weight of a deposit, in words."""

from __future__ import annotations

from gradledger.ledger.events import Weight
from gradledger.report.counts import counted


def weighed(weight: Weight) -> str:
    """`mean of 32 items, divided by 4`; empty where nothing is known."""
    parts = []
    if weight.reduction is not None:
        of = ""
        if weight.items is not None:
            of = f" of {counted(weight.items, 'item')}"
        elif weight.items_vary:
            of = " of a number of items that varies"
        parts.append(f"{weight.reduction}{of}")
    elif weight.items is not None:
        parts.append(counted(weight.items, "item"))
    if weight.framework_divides:
        parts.append("divided by the framework")
    elif weight.divisor not in (None, 1):
        parts.append(f"divided by {_number(weight.divisor)}")
    return ", ".join(parts)


def _number(divisor: float | str | None) -> str:
    return divisor if isinstance(divisor, str) else f"{divisor:g}"
