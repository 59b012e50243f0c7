"""What the last nodes of a loss say: by which numbers it was divided, and of how many it is a mean.

The auditor reads more of them, and judges programs that it knows nothing of. Here the question is
smaller: what did somebody do to the loss that the Stepper will do, too?
"""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor
from torch.amp import GradScaler
from torch.autograd.graph import Node

_SAME = {
    f"{operation}Backward0"
    for operation in ("ToCopy", "View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze")
} | {"CloneBackward0", "AliasBackward0", "SqueezeBackward1"}
"""Nodes that leave the number as it is."""
_SUMS = ("SumBackward0", "SumBackward1", "DotBackward0")
_DEEP = 16
_MEAN = 1
"""`reduction="mean"`, as a node of a loss keeps it."""
_LEAST_SCALE = 2.0**10


class Reading(NamedTuple):
    """What was read, from the loss inwards."""

    divisors: tuple[float, ...] = ()
    """Numbers that a mean was divided by, and reciprocals of what it was multiplied with."""
    multiplied: bool = False
    """Some of them are such reciprocals."""
    scaled: bool = False
    """A GradScaler's scale is among its factors."""
    terms: int = 1
    """How many losses were added up."""
    reduction: str = ""
    """The name of the node that made one number of many."""
    mean_of: float | None = None
    """Of how many it is the mean."""


def read(loss: Tensor, scaler: GradScaler | None) -> Reading:
    """Reads the nodes. What does not show itself stays at its default."""
    try:
        return _read(loss.grad_fn, scaler)
    except RuntimeError:  # an earlier backward has freed what the nodes had saved
        return Reading()


def _read(node: Node | None, scaler: GradScaler | None) -> Reading:
    divisors: list[float] = []
    multiplied = scaled = False
    for _ in range(_DEEP):
        if node is None:
            break
        name, behind = node.name(), [each for each, _ in node.next_functions if each is not None]
        if name in ("DivBackward0", "MulBackward0") and len(behind) == 1:
            other: Any = getattr(node, "_saved_other", None)
            scaled |= name == "MulBackward0" and _is_scale(other, scaler)
            number = _number(other)
            if not number:
                break
            multiplied |= name == "MulBackward0"
            divisors.append(number if name == "DivBackward0" else 1 / number)
        elif not (name in _SAME and len(behind) == 1):
            return _ended(node, divisors, multiplied=multiplied, scaled=scaled)
        node = behind[0]
    return Reading(tuple(divisors), multiplied, scaled)


def _ended(node: Node, divisors: list[float], *, multiplied: bool, scaled: bool) -> Reading:
    """At the node that made one number of many, or put several losses together."""
    name, count, saved = node.name(), None, node
    if name in _SUMS and divisors:
        count = divisors.pop()  # a sum that is divided is a mean, whatever it is divided by
    elif name == "MeanBackward0":
        count = 1.0
        for size in saved._saved_self_sym_sizes:  # type: ignore[attr-defined]
            count *= size
    elif name.startswith("NllLoss") and getattr(saved, "_saved_reduction", 0) == _MEAN:
        weighed = getattr(saved, "_saved_weight", None) is not None
        count = None if weighed else _number(getattr(saved, "_saved_total_weight", None))
    return Reading(tuple(divisors), multiplied, scaled, _terms(node), name, count)


def _terms(node: Node) -> int:
    waiting, found = [node], 0
    while waiting and found <= _DEEP:
        each = waiting.pop()
        if each.name() in ("AddBackward0", "SubBackward0"):
            waiting += [behind for behind, _ in each.next_functions if behind is not None]
        else:
            found += 1
    return found


def _is_scale(other: object, scaler: GradScaler | None) -> bool:
    """Whether this is the scale of a GradScaler: of the one at hand, or by its looks."""
    if not isinstance(other, Tensor) or other.numel() != 1:
        return False
    scale = getattr(scaler, "_scale", None)
    if isinstance(scale, Tensor) and scale.data_ptr() == other.data_ptr():
        return True
    number = _number(other) if str(other.dtype) == "torch.float32" else None
    # The scale is a tensor of one number; a factor in a program is one of Python's.
    return number is not None and number >= _LEAST_SCALE and number.hex().startswith("0x1.0000000")


def _number(other: object) -> float | None:
    """Its value, where nobody has to wait for a device."""
    if isinstance(other, int | float):
        return float(other)
    if type(other) is not Tensor or other.numel() != 1 or other.device.type != "cpu":
        return None
    return None if other.is_complex() else float(other.item())
