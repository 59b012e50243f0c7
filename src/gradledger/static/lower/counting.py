"""Constants and counters: the arithmetic of whole numbers that windows are told by."""

from __future__ import annotations

from gradledger.static.domain.values import PLAIN, Constant, Count, Known, Thing
from gradledger.static.source import syntax as ast


def count_result(left: Known, right: Known, node: ast.BinOp) -> Known | None:
    """A counter plus or minus a number, or a counter that runs on."""
    if not (isinstance(left, Count) or isinstance(right, Count)):
        if isinstance(left, Constant) and isinstance(right, Constant):
            return _constant(left.value, right.value, node)
        return None
    counter, other = (left, right) if isinstance(left, Count) else (right, left)
    if isinstance(other, Thing) and not other.plain:
        return None
    if (
        isinstance(other, Constant)
        and isinstance(other.value, int)
        and isinstance(node.op, ast.Add | ast.Sub)
        and (isinstance(node.op, ast.Add) or counter is left)
    ):
        sign = 1 if isinstance(node.op, ast.Add) else -1
        return Count(counter.loop, counter.plus + sign * other.value)  # type: ignore[union-attr]
    return PLAIN if isinstance(node.op, ast.Mod) else Count("")


def _constant(left: object, right: object, node: ast.BinOp) -> Known:
    if not (isinstance(left, int | float) and isinstance(right, int | float)):
        return PLAIN
    try:
        match node.op:
            case ast.Add():
                return Constant.of(left + right)
            case ast.Sub():
                return Constant.of(left - right)
            case ast.Mult():
                return Constant.of(left * right)
            case ast.Div():
                return Constant.of(left / right)
            case ast.FloorDiv():
                return Constant.of(left // right)
    except (ArithmeticError, ValueError):
        pass
    return PLAIN
