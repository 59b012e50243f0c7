"""What a file makes sure of by itself: that its data fills whole windows."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def dividing(tree: ast.Module) -> frozenset[str]:
    """Names of numbers that divide how much data there is, or the program does not go on.

    `if len(batches) % n: raise`, `assert samples % (size * n) == 0`. Not `batch_size % n`: how many
    parts a batch has says nothing of how many batches there are.
    """
    found: set[str] = set()
    for division in _insisted(tree):
        factors = _factors(division.right)
        if len(factors) == 1 and isinstance(division.right, ast.Name):
            factors = _factors(_value_of(division.right.id, tree) or division.right)
        if len(factors) > 1 or _is_length(division.left):
            found |= factors
    return frozenset(found)


def _insisted(tree: ast.Module) -> Iterator[ast.BinOp]:
    """Divisions that have to come out even: the file raises otherwise."""
    for node in ast.walk(tree):
        match node:
            case ast.Assert(ast.Compare(ast.BinOp(op=ast.Mod()) as division, [ast.Eq()], _)):
                yield division
            case ast.If(
                ast.Compare(ast.BinOp(op=ast.Mod()) as division, [ast.NotEq() | ast.Gt()], _)
                | (ast.BinOp(op=ast.Mod()) as division),
                [*_, ast.Raise()],
            ):
                yield division


def _factors(node: ast.expr) -> set[str]:
    match node:
        case ast.BinOp(left, ast.Mult(), right):
            return _factors(left) | _factors(right)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return {name}
        case _:
            return set()


def _value_of(name: str, tree: ast.Module) -> ast.expr | None:
    """What is assigned to a name, where the file does that once."""
    given = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id == name
    ]
    return given[0] if len(given) == 1 else None


def _is_length(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
