"""What a piece of code calls, by names that mean the same a few lines further."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gradledger.static.fix.script import Statement
from gradledger.static.source import syntax as ast


class Spend(NamedTuple):
    """`optimizer.step()`, or `scaler.step(optimizer)`."""

    optimizer: str
    scaler: str | None


def plain(node: ast.AST | None) -> str | None:
    """`optimizer`, `self.scaler`: a name, or an attribute of one; None for anything else."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else None


def calls(*nodes: ast.AST) -> Iterator[ast.Call]:
    """All calls in these pieces of code."""
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Call):
                yield inner


def method(call: ast.Call) -> str:
    """The last name of what is called."""
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def calls_method(node: ast.AST, *names: str) -> bool:
    """Is one of these called somewhere in it?"""
    return any(method(call) in names for call in calls(node))


def mentions(node: ast.AST, attribute: str) -> bool:
    """Is there an attribute of that name somewhere in it?"""
    return any(isinstance(n, ast.Attribute) and n.attr == attribute for n in ast.walk(node))


def only_call(statement: Statement | None) -> ast.Call | None:
    """The call that the statement is; None where it does anything with the result."""
    match statement:
        case Statement(node=ast.Expr(value=ast.Call() as call)):
            return call
    return None


def spend(call: ast.Call | None) -> Spend | None:
    """What a call of `step` steps, where the names are plain."""
    match call:
        case ast.Call(func=ast.Attribute(value=of, attr="step"), args=[], keywords=[]):
            optimizer = plain(of)
            return Spend(optimizer, None) if optimizer else None
        case ast.Call(func=ast.Attribute(value=of, attr="step"), args=[optimized], keywords=[]):
            scaler, optimizer = plain(of), plain(optimized)
            return Spend(optimizer, scaler) if scaler and optimizer else None
    return None


def spends_of(statement: Statement) -> list[Spend]:
    """All plain steps in a statement."""
    return [found for found in map(spend, calls(statement.node)) if found is not None]


def rebound(name: str, nodes: Iterable[ast.AST]) -> bool:
    """Is the name, or what it is an attribute of, assigned to in these pieces of code?"""
    prefixes = {name[: len(name) - len(rest)].rstrip(".") for rest in _tails(name)}
    return any(
        isinstance(inner, ast.Name | ast.Attribute)
        and not isinstance(inner.ctx, ast.Load)
        and plain(inner) in prefixes
        for node in nodes
        for inner in ast.walk(node)
    )


def _tails(name: str) -> Iterator[str]:
    """`b.c`, `c` and nothing, of `a.b.c`."""
    while name:
        _, _, name = name.partition(".")
        yield name
