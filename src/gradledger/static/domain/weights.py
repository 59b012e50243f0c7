"""How much a loss counts: what arithmetic does to its reduction and divisor."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.events import UNKNOWN_WEIGHT, Weight
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.domain.values import Constant, Known, Thing, is_plain
from gradledger.static.source import syntax as ast

MEAN = Weight("mean", 1)
SUM = Weight("sum", 1)
NO_COEFFICIENTS: frozenset[str] = frozenset()


def weight_of(value: Known) -> Weight:
    """The weight of a loss; unknown for anything else."""
    return value.weight if isinstance(value, Thing) else UNKNOWN_WEIGHT


def divided(weight: Weight, by: Known, text: str, at: Place) -> Weight:
    """The weight after a division."""
    number = _number(by)
    if number and isinstance(weight.divisor, int | float):
        return replace(weight, divisor=weight.divisor * number, divided_at=at)
    return replace(weight, divisor=number or text, divided_at=at)


def multiplied(weight: Weight, by: Known, at: Place) -> Weight:
    """The weight after a multiplication: by 0.25 it may be a division by 4."""
    number = _number(by)
    if number and isinstance(weight.divisor, int | float):
        return replace(weight, divisor=weight.divisor / number, divided_at=at)
    return replace(weight, divisor=None)


def added(one: Weight, other: Weight) -> Weight:
    """The weight of a sum of losses: that of an undivided mean, if one is among them."""
    if one == other:
        return one
    for weight in (one, other):
        if weight.reduction == "mean" and weight.divisor == 1:
            return weight
    return UNKNOWN_WEIGHT


def times(value: Known, by: ast.expr | None) -> frozenset[str]:
    """The coefficients of a mean that is multiplied once more, and was never divided."""
    factors = frozenset() if by is None else frozenset(_factors(by))
    if not factors or not _is_undivided(value) or any("/" in factor for factor in factors):
        return NO_COEFFICIENTS
    return coefficients_of(value) | factors


def _factors(node: ast.expr) -> Iterator[str]:
    """`a` and `b` of `a * b`."""
    match node:
        case ast.BinOp(op=ast.Mult()):
            yield from _factors(node.left)
            yield from _factors(node.right)
        case _:
            yield ast.unparse(node)


def sum_of(one: Known, other: Known) -> tuple[Weight, frozenset[str]]:
    """The weight and the coefficients of a sum.

    Whoever divides by the window does so with all terms: in `a * bce + b * dice`, which have no
    factor in common, nothing has been divided.
    """
    if is_plain(one) or is_plain(other):
        value = other if is_plain(one) else one
        return weight_of(value), coefficients_of(value)
    if _is_undivided(one) and _is_undivided(other):
        factors, others = coefficients_of(one), coefficients_of(other)
        if factors | others:
            common = factors & others
            return (weight_of(one), common) if common else (MEAN, NO_COEFFICIENTS)
    return added(weight_of(one), weight_of(other)), NO_COEFFICIENTS


def coefficients_of(value: Known) -> frozenset[str]:
    """What an undivided mean was multiplied by."""
    return value.coefficients if isinstance(value, Thing) else NO_COEFFICIENTS


def _is_undivided(value: Known) -> bool:
    weight = weight_of(value)
    return weight.reduction == "mean" and (weight.divisor == 1 or bool(coefficients_of(value)))


def of_reduction(keywords: dict[str, Known], default: Weight) -> Weight:
    """The weight that a loss of torch's gets by its `reduction=`."""
    given = keywords.get("reduction")
    if given is None:
        known = {"size_average", "reduce"} & keywords.keys()
        return UNKNOWN_WEIGHT if known else default
    if isinstance(given, Constant):
        known_to = {"mean": default, "batchmean": default, "sum": SUM}
        return known_to.get(str(given.value), UNKNOWN_WEIGHT)
    return UNKNOWN_WEIGHT


def _number(value: Known) -> float | None:
    if isinstance(value, Constant) and isinstance(value.value, int | float) and value.value:
        return value.value
    return None


def operator_of(node: ast.BinOp | ast.AugAssign) -> str:
    """`+`, `*`, `/` or another."""
    return {"Add": "+", "Sub": "+", "Mult": "*", "Div": "/", "Mod": "%"}.get(
        type(node.op).__name__, "?"
    )


def terms_of(node: ast.expr) -> Iterator[str]:
    """The names that a result of arithmetic is made of, by themselves or by an item."""
    match node:
        case ast.Name(id=name) | ast.Subscript(ast.Name(id=name)):
            yield name
        case ast.BinOp() if operator_of(node) in ("+", "*", "/"):
            yield from terms_of(node.left)
            yield from terms_of(node.right)
        case ast.UnaryOp(op=ast.USub()):
            yield from terms_of(node.operand)
