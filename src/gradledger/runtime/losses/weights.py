"""How much a loss counts, read from the last nodes of its graph before a backward frees them."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor
from torch.autograd.function import BackwardCFunction
from torch.autograd.graph import Node

from gradledger.ledger.events import UNKNOWN_WEIGHT, Weight
from gradledger.ledger.values import Value, replace
from gradledger.runtime.losses.reductions import Reduction, reduction, value, weighs
from gradledger.runtime.tensors.graphs import noted

SCALED = "scaled by"

_SAME_NUMBER = {
    f"{operation}Backward{number}"
    for operation, numbers in {
        "ToCopy": "0", "Neg": "0", "Abs": "0", "Clamp": "01", "ClampMin": "0", "ClampMax": "0",
        "NanToNum": "0", "View": "0", "UnsafeView": "0", "ReshapeAlias": "0", "Squeeze": "0123",
        "Unsqueeze": "0", "Expand": "0", "Permute": "0", "T": "0", "Transpose": "01",
        "Clone": "0", "Alias": "0", "MaskedFill": "01", "Where": "0",
    }.items()
    for number in numbers
}  # fmt: skip
"""Nodes that change a loss's type, shape or sign, and not how much it counts."""
_SAME_FUNCTIONS = {"BackwardHookFunctionBackward", "_DDPSinkBackward"}
"""The same: torch's own functions, with an output for each input."""
_CURVES = {
    f"{operation}Backward0"
    for operation in ("Sqrt", "Pow", "Log", "Log1P", "Exp", "Expm1", "Softplus", "Sigmoid", "Tanh")
}
"""Functions of one number: of a mean they still count once for each batch."""
_JOINED = {"StackBackward0", "CatBackward0", "GatherBackward"}
"""Nodes that put losses side by side, of parts of a batch or of devices."""

MOST_BATCHES = 128
"""Windows of more micro-batches than that aren't expected."""
MOST_TERMS = 64
"""So many terms of a sum of losses are looked at."""
DEEP = 32
"""A loss whose last operations are more than that is not read."""

COMPILED = "the loss is compiled"
CUSTOM = "the loss is a custom autograd function"
SHARDED = "the loss is sharded"
OTHER = "the loss's last operations do not show its reduction"
FREED = "an earlier backward has freed the loss's graph"
EITHER = "a sum was divided by the number of its elements, or of its rows and micro-batches"


class Loss(Value):
    """What a loss tells of itself."""

    weight: Weight
    scaler: Mapping[int, str] | None = None
    """What each audit calls the scaler that multiplied it."""
    rows: int | None = None
    """How many rows were summed up: a sum that is divided by them is a mean over the batch."""
    why: str = ""
    """Why its weight is not known."""
    reduced: Node | None = None
    """What was reduced."""


def read(loss: Tensor, given: object = None) -> Loss:
    """The loss's weight, and the scaler that multiplied it.

    `given` is the gradient that a backward begins with, where it is told one.
    """
    try:
        if loss.grad_fn is None:
            return Loss(UNKNOWN_WEIGHT, why=OTHER)
        found = _read(loss.grad_fn, loss.output_nr, DEEP)
    except RuntimeError:  # an earlier backward has freed what these nodes saved
        return Loss(UNKNOWN_WEIGHT, why=FREED)
    if given is not None:
        factor = value(given)
        if not factor:
            return Loss(UNKNOWN_WEIGHT, found.scaler)  # a surrogate, or a vector's product
        found = _divided(found, abs(1 / factor))
    # No node of the graph may live longer than without us.
    return found if found.reduced is None else replace(found, reduced=None)


def _read(node: Node, number: int, depth: int) -> Loss:
    name = node.name()
    inputs = node.next_functions
    behind = [(n, nr) for n, nr in inputs if n is not None]
    if not depth:
        return Loss(UNKNOWN_WEIGHT, why=OTHER)
    if (scaler := noted(node, SCALED)) and behind:
        return replace(_read(*behind[0], depth - 1), scaler=scaler)
    if name == "AddBackward0" and (plain := _unsmoothed(node)) is not None:
        return _read(plain, 0, depth - 1)
    if name in ("AddBackward0", "SubBackward0") and behind:
        return _together([_divided(_read(n, nr, depth - 1), d) for n, nr, d in _terms(node)])
    if len(behind) == 1 and (name in _SAME_NUMBER or _is_of_one(node, name)):
        return _read(*behind[0], depth - 1)
    if name in _SAME_FUNCTIONS and number < len(inputs):
        same, nr = inputs[number]
        if same is not None:
            return _read(same, nr, depth - 1)
    if len(behind) == 1 and name in _CURVES:
        return _bent(_read(*behind[0], depth - 1))
    if len(behind) == 1 and (divisor := _divisor(node, name)):
        return _divided(_read(*behind[0], depth - 1), divisor)
    found = reduction(node, name)
    if found.kind is None:
        return Loss(UNKNOWN_WEIGHT, why=_why(node, name))
    reduced = behind[0][0] if behind else None
    if found.kind == "mean" and reduced is not None and reduced.name() in _JOINED:
        return _mean_of(reduced, found, depth - 1)
    weight = Weight(found.kind, 1, found.items)
    if found.kind == "mean":
        return Loss(weight)
    return Loss(weight, rows=found.rows, reduced=reduced)


def _why(node: Node, name: str) -> str:
    if "CompiledFunction" in name:
        return COMPILED
    if "DTensor" in name or "ToTorchTensor" in name or "AsyncCollective" in name:
        return SHARDED
    return CUSTOM if issubclass(type(node), BackwardCFunction) else OTHER


def _terms(node: Node) -> list[tuple[Node, int, float]]:
    """What a chain of additions adds up, and what each is divided by."""
    found: list[tuple[Node, int, float]] = []
    waiting = [(node, 0, 1.0)]
    while waiting and len(found) < MOST_TERMS:
        term, number, divisor = waiting.pop()
        if term.name() not in ("AddBackward0", "SubBackward0"):
            found.append((term, number, divisor))
            continue
        alpha = getattr(term, "_saved_alpha", 1)
        factors = 1, abs(alpha) if isinstance(alpha, int | float) and alpha else 1
        for (inner, nr), factor in zip(term.next_functions, factors, strict=False):
            if inner is not None:
                waiting.append((inner, nr, divisor / factor))
    return found


def _unsmoothed(node: Node) -> Node | None:
    """The loss without smoothing, if this is what torch makes of `label_smoothing`: a part of it,
    and of the sum over all classes as much as is left."""
    parts = [n for n, _ in node.next_functions if n is not None and n.name() == "MulBackward1"]
    if len(parts) != 2:
        return None
    first, other = (getattr(part, "_saved_other", None) for part in parts)
    loss = parts[0].next_functions[0][0]
    if loss is None or not isinstance(first, float) or not isinstance(other, float):
        return None
    classes = reduction(loss, loss.name()).classes
    return loss if classes and _same(first + classes * other, 1) else None


def _is_of_one(node: Node, name: str) -> bool:
    """Whether it is the mean or the sum of one number: `loss.mean()` for any count of devices."""
    # One row is a batch of one: its mean is a mean.
    sizes = getattr(node, "_saved_self_sym_sizes", None)
    return name in ("MeanBackward0", "SumBackward0") and sizes == ()


def _mean_of(joined: Node, mean: Reduction, depth: int) -> Loss:
    """A mean of losses counts as they do; of anything else, it is a mean over them."""
    inner = [(n, nr) for n, nr in joined.next_functions if n is not None]
    plain = Loss(Weight("mean", 1, mean.items), rows=mean.rows)
    if not inner or len(inner) != mean.items or len(inner) > MOST_TERMS:
        return plain  # of vectors
    losses = [_read(n, nr, depth) for n, nr in inner]
    first = losses[0].weight
    if any(one.weight != first for one in losses) or first.reduction != "mean":
        alike = all(
            one.weight.reduction == "mean" and one.weight.divisor == first.divisor for one in losses
        )
        return Loss(replace(first, items=None)) if alike else plain
    items = None if first.items is None else first.items * len(losses)
    return Loss(replace(first, items=items))


def _bent(loss: Loss) -> Loss:
    """A function of a mean: of how many items is unknown, and a division went into it."""
    before = loss.weight
    if before.reduction == "mean" and before.divisor == 1 and before.factor == 1:
        return Loss(Weight("mean", 1), loss.scaler)
    return Loss(UNKNOWN_WEIGHT, loss.scaler, why=loss.why or OTHER)


def _divided(loss: Loss, divisor: float) -> Loss:
    before = loss.weight
    if divisor == 1 or before.reduction is None:
        return loss
    so_far = before.divisor if isinstance(before.divisor, int | float) else 1
    whole = before.reduction == "sum" and before.divisor == 1 and before.factor == 1
    if whole and (mean := _mean(loss, divisor)) is not None:
        return mean
    if divisor < 1:
        if before.reduction == "mean" and before.items and _same(1 / divisor, before.items):
            return replace(loss, weight=replace(before, reduction="sum", summed=False))
        return replace(loss, weight=replace(before, factor=before.factor / divisor))
    return replace(loss, weight=replace(before, divisor=_whole(so_far * divisor)))


def _mean(loss: Loss, divisor: float) -> Loss | None:
    """The mean that a sum is, if it is divided by as many as it has items."""
    items, rows = loss.weight.items, loss.rows
    counts_all = divisor in (items, rows)
    # All elements of a row, or as many micro-batches: which of them is unknown.
    either = counts_all and rows and divisor > rows and divisor / rows <= MOST_BATCHES
    if (counts_all and not either) or weighs(loss.reduced, divisor, masks_only=bool(either)):
        counted = round(divisor) if _same(divisor, round(divisor)) else None
        return replace(loss, weight=Weight("mean", 1, counted, summed=True))
    return replace(loss, weight=Weight("sum"), why=EITHER) if either else None


def _same(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-6 * abs(other)


def _whole(number: float) -> float:
    """The number, rounded where it is but a hair off."""
    return round(number) if _same(number, round(number)) else number


def _together(terms: list[Loss]) -> Loss:
    """A sum of losses counts like its mean with the largest weight: the others are penalties."""
    means = [term for term in terms if term.weight.reduction == "mean"] or terms
    main = max(means, key=_share)
    weight = main.weight
    if len({term.weight.reduction for term in means}) > 1:
        weight = replace(weight, reduction=None)
    if len({term.weight.items for term in means}) > 1:
        weight = replace(weight, items=None)
    if weight.reduction == "mean" and (divisor := _shared(means, main)) is not None:
        weight = replace(weight, divisor=divisor, factor=1.0)
    scaler = next((term.scaler for term in terms if term.scaler), None)
    why = "" if weight.reduction else next((term.why for term in terms if term.why), OTHER)
    return Loss(weight, scaler, why=why)


def _share(loss: Loss) -> float:
    divisor = loss.weight.divisor
    return loss.weight.factor / (divisor if isinstance(divisor, int | float) else 1)


def _shared(means: list[Loss], main: Loss) -> float | None:
    """What parts that share one weight are divided by together: `0.9 * one + 0.1 * other`."""
    shares = [_share(mean) for mean in means]
    if len(shares) < 2 or _whole(1 / _share(main)) == round(1 / _share(main)):
        return None
    together = 1 / sum(shares)
    return round(together) if round(together) and _same(together, round(together)) else None


def _divisor(node: Node, name: str) -> float | None:
    """What a node divides by, if it multiplies or divides by one known number."""
    if not name.startswith(("Div", "Mul")):
        return None
    other = getattr(node, "_saved_other", None)
    number = value(other) if isinstance(other, Tensor) else other
    if not isinstance(number, int | float) or not number:
        # `0.5 * loss` may keep the number as the first factor.
        number = value(getattr(node, "_saved_self", None)) if name.startswith("Mul") else None
        if not number:
            return None
    return abs(number) if name.startswith("Div") else abs(1 / number)
