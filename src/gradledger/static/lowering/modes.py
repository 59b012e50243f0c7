"""Models that are told to evaluate: what they compute then may be something else."""

from __future__ import annotations

from gradledger.static.lowering.state import State
from gradledger.static.lowering.values import Constant, Known, within


class Modes(State):
    """Which models are surely in eval mode. Of all others, nobody asks: they train, or may."""

    def is_evaluating(self, key: str) -> bool:
        """Was it, or what it is a part of, told to evaluate, and not to train since?"""
        return bool(key) and any(within(key, whole) for whole in self.evaluating)

    def set_mode(self, key: str, method: str, argument: Known | None) -> None:
        """`net.eval()`, `net.train()`, `net.train(False)`."""
        self.evaluating = frozenset(
            k for k in self.evaluating if not within(k, key) and not within(key, k)
        )
        if method == "eval" or argument == Constant.of(False):
            self.evaluating |= {key}
