"""Which statements keep a value in a variable, carry it over, or make the variable."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

Names = Callable[[str], bool]
"""Whether an expression, as it is written, is the variable in question."""
Does = Callable[[ast.stmt, Names], bool]

_PUTTING = {"append", "extend", "insert", "add", "update", "appendleft", "setdefault", "put"}


def keeps(statement: ast.stmt, is_it: Names) -> bool:
    """Whether it adds to what the variable holds: `total += loss`, `losses.append(loss)`."""
    match statement:
        case ast.AugAssign(target):
            return is_it(_holder(target))
        case ast.Assign(targets, value):
            if any(isinstance(t, ast.Subscript) and is_it(_holder(t)) for t in targets):
                return True
            return any(is_it(ast.unparse(t)) for t in targets) and _mentions(value, is_it)
        case ast.Expr(ast.Call(ast.Attribute(value, method))):
            return method in _PUTTING and is_it(_holder(value))
    return False


def carries(statement: ast.stmt, is_it: Names) -> bool:
    """Whether it makes the variable's new value of its old one: `h = cell(x, h)`."""
    match statement:
        case ast.AugAssign(target):
            return is_it(_holder(target))
        case ast.Assign(targets, value):
            return _assigns(targets, is_it) and _mentions(value, is_it)
    return False


def makes(statement: ast.stmt, is_it: Names) -> bool:
    """Whether it assigns the variable, whatever it was."""
    match statement:
        case ast.Assign(targets):
            return _assigns(targets, is_it)
        case ast.AnnAssign(target, _, value):
            return value is not None and is_it(_holder(target))
    return False


def carried_over(statements: list[ast.stmt], is_it: Names) -> ast.stmt | None:
    """The assignment of a variable that an earlier statement of the same round reads."""
    read = False
    for statement in sorted(statements, key=lambda s: (s.lineno, s.col_offset)):
        if read and makes(statement, is_it):
            return statement
        if not getattr(statement, "body", None):
            read = read or _mentions(statement, is_it, only=ast.Load)
    return None


def _assigns(targets: list[ast.expr], is_it: Names) -> bool:
    return any(is_it(name) for target in targets for name in _assigned(target))


def _assigned(target: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Tuple | ast.List):
        for part in target.elts:
            yield from _assigned(part)
    else:
        yield _holder(target)


def _holder(target: ast.expr) -> str:
    """`losses` of `losses[i]`."""
    while isinstance(target, ast.Subscript | ast.Starred):
        target = target.value
    return ast.unparse(target)


def _mentions(value: ast.AST, is_it: Names, only: type[ast.expr_context] | None = None) -> bool:
    return any(
        isinstance(node, ast.Name | ast.Attribute)
        and (only is None or isinstance(node.ctx, only))
        and is_it(ast.unparse(node))
        for node in ast.walk(value)
    )
