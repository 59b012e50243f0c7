"""Names of gradient scalers."""

from __future__ import annotations

from gradledger.static.models.facts import last

_SCALERS = frozenset(["GradScaler", "ShardedGradScaler"])


def is_scaler(dotted: str) -> bool:
    """Is this the class of a gradient scaler?"""
    return last(dotted) in _SCALERS
