"""Which of the things that a function is given must be nets: those that it asks for parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gradledger.static import budget
from gradledger.static.domain.values import FunctionDef
from gradledger.static.lower.spelling import is_static
from gradledger.static.project.name_uses import OF_MODELS
from gradledger.static.source import syntax as ast

Called = Callable[[ast.Call, FunctionDef], FunctionDef | None]
"""Gives the project's own function that a call in another one means."""


def names_of(function: FunctionDef) -> list[str]:
    """What it calls that which a call hands over, place by place."""
    arguments = function.node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    bound = function.bound is not None and not is_static(function.node)
    return names[len(function.preset) + bound :]


def handed(function: FunctionDef, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """What a call hands over, each by the name that the function has for it."""
    if not any(isinstance(argument, ast.Starred) for argument in call.args):
        yield from zip(names_of(function), call.args, strict=False)
    yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg)


def asked_for_parameters(
    function: FunctionDef, called: Called, left: int = budget.MOST_HANDED_ON
) -> frozenset[str]:
    """The names that a function asks for parameters, or hands on to one that does."""
    found: set[str] = set()
    for inner in ast.walk(function.node):
        match inner:
            case ast.Call(func=ast.Attribute(ast.Name(name), method)) if method in OF_MODELS:
                found.add(name)
            case ast.Call(func=ast.Name()) if left and (inner.args or inner.keywords):
                callee = called(inner, function)
                if callee is None or callee.node is function.node:
                    continue
                asked = asked_for_parameters(callee, called, left - 1)
                found.update(
                    given.id
                    for name, given in handed(callee, inner)
                    if name in asked and isinstance(given, ast.Name)
                )
    return frozenset(found)
