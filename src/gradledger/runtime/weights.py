"""How much a loss counts, read from the last nodes of its graph before a backward frees them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Literal

from torch import Tensor
from torch.autograd.graph import Node

from gradledger.ledger.events import UNKNOWN_WEIGHT, Weight
from gradledger.ledger.values import Value, replace
from gradledger.runtime.graphs import noted

SCALED = "scaled by"

_SAME_NUMBER = {
    "ToCopyBackward0",
    "NegBackward0",
    "ViewBackward0",
    "SqueezeBackward0",
    "UnsqueezeBackward0",
    "CloneBackward0",
    "AliasBackward0",
}
"""Nodes that change a loss's type, shape or sign, and not how much it counts."""

MOST_BATCHES = 128
"""Nobody adds up more micro-batches than that."""

_REDUCTIONS: dict[int, Literal["mean", "sum"]] = {1: "mean", 2: "sum"}


class Loss(Value):
    """What a loss tells of itself."""

    weight: Weight
    scaler: Mapping[int, str] | None = None
    """What each audit calls the scaler that multiplied it."""
    rows: int | None = None
    """How many rows were summed up: a sum that is divided by them is a mean over the batch."""


def read(loss: Tensor) -> Loss:
    """The loss's weight, and the scaler that multiplied it."""
    try:
        return Loss(UNKNOWN_WEIGHT) if loss.grad_fn is None else _read(loss.grad_fn)
    except RuntimeError:  # an earlier backward has freed what these nodes saved
        return Loss(UNKNOWN_WEIGHT)


def _read(node: Node) -> Loss:
    name = node.name()
    behind = [n for n, _ in node.next_functions if n is not None]
    if (scaler := noted(node, SCALED)) and behind:
        return replace(_read(behind[0]), scaler=scaler)
    if name in ("AddBackward0", "SubBackward0") and behind:
        return _together([_read(term) for term in behind])
    if len(behind) == 1 and name in _SAME_NUMBER:
        return _read(behind[0])
    if len(behind) == 1 and (divisor := _divisor(node, name)):
        return _divided(_read(behind[0]), divisor)
    reduction, items = _reduction(node, name)
    return Loss(Weight(reduction, 1, items), rows=_rows(node, name))


def _divided(loss: Loss, divisor: float) -> Loss:
    before = loss.weight
    if before.reduction == "sum" and before.divisor == 1 and divisor in (before.items, loss.rows):
        if divisor != loss.rows and loss.rows and divisor / loss.rows <= MOST_BATCHES:
            # All elements of a row, or as many micro-batches: which of them, nobody knows.
            return replace(loss, weight=Weight("sum"))
        return replace(loss, weight=Weight("mean", 1, round(divisor), summed=True))
    so_far = before.divisor if isinstance(before.divisor, int | float) else 1
    whole = round(so_far * divisor)
    product = whole if abs(whole - so_far * divisor) < 1e-6 * whole else so_far * divisor
    return replace(loss, weight=replace(before, divisor=product))


def _together(terms: list[Loss]) -> Loss:
    """A sum of losses counts like its mean with the largest weight: the others are penalties."""
    means = [term for term in terms if term.weight.reduction == "mean"] or terms
    main = min(means, key=lambda term: _number(term.weight.divisor))
    weight = main.weight
    if len({term.weight.reduction for term in means}) > 1:
        weight = replace(weight, reduction=None)
    if len({term.weight.items for term in means}) > 1:
        weight = replace(weight, items=None)
    scaler = next((term.scaler for term in terms if term.scaler), None)
    return Loss(weight, scaler)


def _number(divisor: float | str | None) -> float:
    return divisor if isinstance(divisor, int | float) else 1


def _divisor(node: Node, name: str) -> float | None:
    """What a node divides by, if it multiplies or divides by one known number."""
    other = getattr(node, "_saved_other", None)
    if isinstance(other, Tensor):
        other = other.item() if other.numel() == 1 else None
    if not isinstance(other, int | float) or not other:
        # `0.5 * loss` may keep the number as the first factor.
        first = getattr(node, "_saved_self", None) if name.startswith("Mul") else None
        if not isinstance(first, Tensor) or first.numel() != 1 or not first.item():
            return None
        other = first.item()
    if name.startswith("Div"):
        return abs(other)
    return abs(1 / other) if name.startswith("Mul") else None


def _rows(node: Node, name: str) -> int | None:
    if name == "SumBackward0":
        sizes: tuple[int, ...] = node._saved_self_sym_sizes  # type: ignore[attr-defined]
    else:
        items = _items(node)
        sizes = () if items is None else items.shape
    return int(sizes[0]) if sizes else None


def _items(node: Node) -> Tensor | None:
    """What a loss has a target for each: a row of logits is one item, whatever its length."""
    target = getattr(node, "_saved_target", None)
    values = target if isinstance(target, Tensor) else getattr(node, "_saved_self", None)
    return values if isinstance(values, Tensor) and hasattr(node, "_saved_reduction") else None


def _reduction(node: Node, name: str) -> tuple[Literal["mean", "sum"] | None, int | None]:
    """How the node made one number of many, and of how many."""
    if name == "MeanBackward0":
        return "mean", int(node._saved_self_sym_numel)  # type: ignore[attr-defined]
    if name == "SumBackward0":
        return "sum", prod(node._saved_self_sym_sizes)  # type: ignore[attr-defined]
    reduction = _REDUCTIONS.get(getattr(node, "_saved_reduction", 0))
    if reduction is None:
        return None, None
    total = getattr(node, "_saved_total_weight", None)
    if isinstance(total, Tensor):
        return reduction, int(total) if float(total).is_integer() else None
    items = _items(node)
    return reduction, None if items is None else items.numel()
