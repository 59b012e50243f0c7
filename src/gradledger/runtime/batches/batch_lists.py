"""Lists of micro-batches that the program has drawn before it goes through them.

Whether the items of a list are batches or tasks, the list does not say. The code that makes it may:
`[next(batches) for _ in range(4)]` draws four times in the same way.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

_PASSED_ON = {"list", "tuple", "iter", "enumerate", "reversed", "tqdm", "trange"}
"""What gives out the items that it is given."""
MOST_NAMES = 4
"""Variables that hold each other."""


def are_drawn_alike(loop: ast.stmt, statements: list[ast.stmt]) -> bool:
    """Whether a loop goes through items that were all drawn by the same code, which knows no
    number of theirs. `statements` are all of the loop's function."""
    if not isinstance(loop, ast.For):
        return False
    return _drawn(loop.iter, loop.lineno, statements, MOST_NAMES)


def _drawn(items: ast.expr, line: int, statements: list[ast.stmt], most: int) -> bool:
    match items:
        case ast.ListComp(made, [comprehension]) | ast.GeneratorExp(made, [comprehension]):
            calls = any(isinstance(node, ast.Call) for node in ast.walk(made))
            return calls and _counts_only(comprehension.target, comprehension.iter, [made])
        case ast.Call(ast.Name("islice") | ast.Attribute(attr="islice")):
            return True
        case ast.Call(ast.Name(function), [given, *_]) if function in _PASSED_ON:
            return _drawn(given, line, statements, most)
        case ast.NamedExpr(value=value):
            return _drawn(value, line, statements, most)
        case ast.Name(name) if most:
            latest = _latest(name, line, statements)
            if latest is None:
                return False
            start, held = latest
            if isinstance(held, ast.List) and not held.elts:
                return _is_filled_alike(name, statements)
            return _drawn(held, start, statements, most - 1)
    return False


def _counts_only(target: ast.expr, over: ast.expr, body: Iterable[ast.AST]) -> bool:
    """Whether a loop only counts, and nothing in it knows to what."""
    match over:
        case ast.Call(ast.Name("range")):
            names = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
            return not any(
                isinstance(node, ast.Name) and node.id in names
                for part in body
                for node in ast.walk(part)
            )
    return False


def _latest(name: str, line: int, statements: list[ast.stmt]) -> tuple[int, ast.expr] | None:
    """In which line a variable was assigned last, in the order of the text, and what."""
    found: list[tuple[int, ast.expr]] = []
    for statement in statements:
        match statement:
            case ast.Assign([ast.Name(target)], value) if target == name:
                found.append((statement.lineno, value))
            case ast.While(test=test) | ast.If(test=test):
                found += [
                    (statement.lineno, node.value)
                    for node in ast.walk(test)
                    if isinstance(node, ast.NamedExpr) and node.target.id == name
                ]
    before = [one for one in found if one[0] <= line]
    return max(before, key=lambda one: one[0], default=None)


def _is_filled_alike(name: str, statements: list[ast.stmt]) -> bool:
    """Whether all that is ever appended to a list is so in loops that only count."""
    filled = [statement for statement in statements if _appends(statement, name)]
    loops = [s for s in statements if isinstance(s, ast.For) and any(f in s.body for f in filled)]
    inside = sum(f in loop.body for loop in loops for f in filled)
    return (
        bool(filled)
        and inside == len(filled)
        and all(_counts_only(loop.target, loop.iter, loop.body) for loop in loops)
    )


def _appends(statement: ast.stmt, name: str) -> bool:
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(held), "append"))):
            return held == name
    return False
