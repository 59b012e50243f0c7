"""Names that begin anew with each call of their function, told by its text."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.static.source import syntax as ast

_MADE_HERE = (ast.Constant, ast.List, ast.BinOp)


def begins_in(function: ast.FunctionDef, name: str, *, new: bool) -> bool:
    """Is what a function calls by this name its own, and not left by an earlier call?

    Who knows that it is `new` need not see it made: `total = self.total` may be another name for
    what earlier calls have filled.
    """
    given = []
    for node in ast.walk(function):
        match node:
            case ast.arg(arg=other) if other == name:
                return False
            case ast.Global(names=names) | ast.Nonlocal(names=names) if name in names:
                return False
            case ast.Assign(targets=targets) if name in _names_in(targets):
                given.append(
                    isinstance(targets[0], ast.Name) and isinstance(node.value, _MADE_HERE)
                )
    return bool(given) and (new or all(given))


def _names_in(targets: list[ast.expr]) -> Iterator[str]:
    for target in targets:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
