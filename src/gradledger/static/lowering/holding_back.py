"""`no_sync()` that a condition chooses: is it round the forward, or the backward alone?"""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.static import syntax as ast
from gradledger.static.lowering.spelling import called_name


def round_backwards_alone(around: ast.AST, block: ast.With | ast.AsyncWith) -> bool:
    """Is the block, and every other one that may hold back syncs, round backwards alone?

    Whether ranks average is settled by the forward: round the backward alone, it has no effect.
    """
    chosen = {name for name, value in _assigned(around) if _is_chosen(value)}
    blocks = [b for b in ast.walk(around) if _holds_back(b, chosen)]
    said = sum(map(_says_no_sync, ast.walk(around)))
    known = sum(
        _says_no_sync(n) for _, v in _assigned(around) if _is_chosen(v) for n in ast.walk(v)
    )
    known += sum(
        _says_no_sync(n)
        for b in blocks
        for item in b.items  # type: ignore[attr-defined]
        for n in ast.walk(item.context_expr)
    )
    return block in blocks and said == known and all(map(_only_backwards, blocks))


def _assigned(around: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(around):
        match node:
            case ast.Assign([ast.Name(name)], value):
                yield name, value


def _is_chosen(value: ast.expr) -> bool:
    """`model.no_sync() if … else nullcontext()`."""
    return isinstance(value, ast.IfExp) and any(map(_says_no_sync, ast.walk(value)))


def _holds_back(node: ast.AST, chosen: set[str]) -> bool:
    return isinstance(node, ast.With | ast.AsyncWith) and any(
        (isinstance(item.context_expr, ast.Name) and item.context_expr.id in chosen)
        or any(map(_says_no_sync, ast.walk(item.context_expr)))
        for item in node.items
    )


def _says_no_sync(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "no_sync"


def _only_backwards(block: ast.AST) -> bool:
    """Is nothing called in it but backwards, of what was computed before?"""
    body = getattr(block, "body", [])
    called = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Call)]
    names = {called_name(call) for call in called}
    return "backward" in names and names <= {"backward", "scale", "is_enabled"}
