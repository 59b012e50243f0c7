"""Loops that cut one batch into slices: `for i in range(0, len(x), n): … x[i : i + n] …`."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.static.lower.spelling import called_name
from gradledger.static.source import syntax as ast

WRAPPERS = ("tqdm", "trange", "track")


def cuts_slices(loop: ast.For | ast.AsyncFor) -> bool:
    """Does it go through the slices of something that stays the same in all its rounds?"""
    size = _size(loop)
    if size is None:
        return False
    assert isinstance(loop.target, ast.Name)
    inside = [inner for statement in loop.body for inner in ast.walk(statement)]
    start = loop.target.id
    ends = {f"{start} + {ast.unparse(size)}", f"{ast.unparse(size)} + {start}"}
    stored = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in inside:
        match node:
            case ast.Assign([ast.Name(end)], value) if ends & set(_terms(value)):
                ends.add(end)
    return any(
        isinstance(node, ast.Subscript)
        and _is_slice(node.slice, start, ends)
        and isinstance(node.value, ast.Name | ast.Attribute)
        and stored.isdisjoint(n.id for n in ast.walk(node.value) if isinstance(n, ast.Name))
        for node in inside
    )


def may_be_whole(loop: ast.For | ast.AsyncFor, tree: ast.AST) -> bool:
    """Is the size of a slice chosen somewhere? Then it is often that of the whole batch."""
    size = _size(loop)
    name = getattr(size, "attr", None) or getattr(size, "id", None)
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets, ast.IfExp() | ast.BoolOp()):
                if any(name in (getattr(t, "attr", ""), getattr(t, "id", "")) for t in targets):
                    return True
            case ast.If(test) if name and name in ast.unparse(test):
                return True
    return False


def _size(loop: ast.For | ast.AsyncFor) -> ast.expr | None:
    """`n` of `range(0, length, n)`."""
    iterable = loop.iter
    while isinstance(iterable, ast.Call) and called_name(iterable) in WRAPPERS:
        if len(iterable.args) != 1:
            break
        iterable = iterable.args[0]
    match iterable:
        case ast.Call(ast.Name("range" | "trange"), [ast.Constant(0), _, size]):
            return size if isinstance(loop.target, ast.Name) else None
    return None


def _terms(value: ast.expr) -> Iterator[str]:
    """A value as it is spelled, or what the smallest is taken of."""
    yield ast.unparse(value)
    if isinstance(value, ast.Call) and called_name(value) == "min":
        yield from map(ast.unparse, value.args)


def _is_slice(cut: ast.expr, start: str, ends: set[str]) -> bool:
    if isinstance(cut, ast.Tuple) and cut.elts:
        cut = cut.elts[0]
    match cut:
        case ast.Slice(ast.Name(lower), ast.expr() as upper, None):
            return lower == start and bool(ends & set(_terms(upper)))
    return False
