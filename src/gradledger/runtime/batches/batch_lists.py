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


def are_cut_by_number(loop: ast.stmt) -> bool:
    """Whether each round of `for i in range(0, n, size)` cuts `[i : i + size]` out of its data, or
    the loop goes through the parts that a tensor was split into."""
    match loop:
        case ast.For(target=ast.Name(number), iter=ast.Call(ast.Name("range"), [_, _, _])):
            nodes = (node for part in loop.body for node in ast.walk(part))
            return any(_cuts(node, number) for node in nodes)
        case ast.For(iter=items):
            return _are_parts(items)
    return False


def _cuts(node: ast.AST, number: str) -> bool:
    """Is it `x[i : i + size]`, along the first dimension?"""
    match node:
        case ast.Subscript(
            slice=ast.Slice(ast.Name(low), high) | ast.Tuple([ast.Slice(ast.Name(low), high), *_])
        ):
            names = {n.id for n in ast.walk(high or node) if isinstance(n, ast.Name)}
            return low == number and (number in names or isinstance(high, ast.Name))
    return False


def _are_parts(items: ast.expr) -> bool:
    match items:
        case ast.Call(ast.Attribute(attr="split" | "chunk"), [_, *more]):
            # Of texts, too; but no loss comes of those. Another dimension is no batch.
            return all(isinstance(one, ast.Constant) and one.value == 0 for one in more[1:])
        case ast.Call(ast.Name(function), [_, *_]) if function in {*_PASSED_ON, "zip"}:
            return any(map(_are_parts, items.args))
    return False


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
