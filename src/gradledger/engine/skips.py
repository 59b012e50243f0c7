"""Information about a window that was skipped because it was not finite."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Skip:
    """A window that held NaN or Inf, and was not spent."""

    update: int
    """Updates made before it."""
    parameters: tuple[str, ...]
    """The parameters whose gradient was not finite."""
    micro_batches: tuple[int, ...]
    """Which micro-batches of the window, from 0, had a loss that was not finite."""
    scaler: bool
    """A GradScaler was at work, which makes some of these in the normal course of things."""
    ranks: tuple[int, ...] = ()
    """On many ranks: those that had such a loss (`micro_batches` are this rank's own)."""

    def __str__(self) -> str:
        first, others = (*self.parameters, "some parameter")[0], len(self.parameters) - 1
        where = f"{first} and {others} more" if others > 0 else first
        text = f"after {self.update} updates, the gradient of {where} is not finite (NaN or Inf)"
        if self.micro_batches:
            which = ", ".join(str(i) for i in self.micro_batches)
            text += f"; so is the loss of micro-batch {which} of the window (counted from 0)"
        if self.ranks:
            which = ", ".join(str(i) for i in self.ranks)
            text += f"; it came from a loss on rank {which}"
        return text
