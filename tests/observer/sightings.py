"""What a `.grad` and its parameter looked like, and what has happened to them since by hand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Kind = Literal["clear", "zero", "assign", "scale", "change", "spend"]


@dataclass(frozen=True)
class ByHand:
    """What code did to one cell between two looks."""

    kind: Kind
    factor: float | None = None


@dataclass(frozen=True)
class Sighting:
    """One look at a leaf: its gradient, the gradient's version and values, and its own values."""

    grad: Tensor | None
    version: int
    held: Tensor | None
    value: Tensor

    @classmethod
    def of(cls, leaf: Tensor) -> Sighting:
        """Look now, and remember the values."""
        grad = leaf.grad
        value = leaf.detach().clone()
        if grad is None:
            return cls(None, 0, None, value)
        return cls(grad, grad._version, dense(grad).clone(), value)

    def deposit_since(self, leaf: Tensor) -> bool:
        """Did a backward pass put something into the cell after this look?"""
        grad = leaf.grad
        if grad is None:
            return False
        return grad is not self.grad or grad._version != self.version

    def moved_since(self, leaf: Tensor) -> bool:
        """Does the leaf have other values now?"""
        return not same(self.value, leaf.detach())

    def by_hand_since(self, leaf: Tensor, statement: str) -> ByHand | None:
        """What code has done since; `statement` is its source, and decides where values can't."""
        grad = leaf.grad
        if grad is None:
            return None if self.grad is None else ByHand("clear")
        now = dense(grad)
        if self.held is None:
            return ByHand("assign")
        if grad is not self.grad:
            edit = _edit(self.held, now, statement)
            # `p.grad = p.grad / 4` sets a tensor, and is a division all the same.
            return ByHand("assign") if edit.kind == "change" else edit
        if grad._version != self.version or not same(self.held, now):
            return _edit(self.held, now, statement)
        if self.moved_since(leaf) and _along(self.value, leaf.detach(), now, statement):
            return ByHand("spend")
        return None


def dense(tensor: Tensor) -> Tensor:
    """The plain values, with no graph behind them."""
    plain = tensor.detach()
    return plain if plain.layout == torch.strided else plain.to_dense()


def finite(tensor: Tensor | None) -> bool:
    """Has it neither a NaN nor an Inf? There is none in nothing."""
    return tensor is None or bool(torch.isfinite(dense(tensor)).all())


def same(a: Tensor, b: Tensor) -> bool:
    """The same values; a NaN is equal to a NaN."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if hasattr(a, "to_local") and hasattr(b, "to_local"):  # of a sharded tensor, what is here
        a, b = a.to_local(), b.to_local()
    return torch.equal(a, b) or torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)


def _edit(before: Tensor, after: Tensor, statement: str) -> ByHand:
    if not after.any():
        # A gradient may be zero without having been cleared (a dead unit): ask the source.
        return ByHand("zero") if before.any() or "zero" in statement else ByHand("scale", 1.0)
    factor = _factor(before, after)
    if before.numel() == 1 and not re.search(r"[*/]|mul|div", statement):
        # One number is always a multiple of another.
        factor = None
    return ByHand("change") if factor is None else ByHand("scale", factor)


def _factor(before: Tensor, after: Tensor) -> float | None:
    """The one number that all values were multiplied by."""
    if before.shape != after.shape or not (finite(before) and finite(after)):
        return None
    old, new = before.double().flatten(), after.double().flatten()
    largest = int(old.abs().argmax())
    if old[largest] == 0:
        return None
    factor = float(new[largest] / old[largest])
    tolerance = 1e-2 if before.dtype in (torch.bfloat16, torch.float16) else 1e-4
    if not torch.allclose(
        new, old * factor, rtol=tolerance, atol=tolerance * float(new.abs().max())
    ):
        return None
    whole = round(1 / factor)
    # 0.33333334 is a third that was rounded.
    return 1 / whole if whole and abs(factor * whole - 1) < tolerance else factor


def _along(before: Tensor, after: Tensor, grad: Tensor, statement: str) -> bool:
    """Did a parameter move because of its gradient? It may also be clamped, set or averaged."""
    if ".grad" in statement:
        return True
    if before.numel() < 2 or before.shape != after.shape:
        return False
    return _factor(grad, (after - before).to(grad.dtype)) is not None
