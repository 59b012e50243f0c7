"""The deposits of a window: how many items, and how they were weighted, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gradledger.ledger.events import Weight
from gradledger.report.chronicle import Window, weighed


def items(window: Window, weights: Sequence[Weight]) -> int | None:
    """The number of items in its new deposits; None unless it is known for each of them."""
    found = [weights[number].items for used in window.used for number in used.weights]
    known = [count for count in found if count is not None]
    return sum(known) if known and len(known) == window.deposits else None


def weighings(numbers: Sequence[int], weights: Sequence[Weight]) -> str:
    """`mean of 32 items (3 times); mean of 7 items`; empty where nothing is known."""
    words = Counter(weighed(weights[number]) for number in numbers)
    words.pop("", None)
    return "; ".join(said if n == 1 else f"{said} ({n:,} times)" for said, n in words.items())
