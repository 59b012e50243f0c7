"""Code that makes deposits in a file of which nothing was followed: it is never called clean."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.static.lower.root import THE_SCRIPT
from gradledger.static.project.module import Module
from gradledger.static.result import Unknown
from gradledger.static.source import syntax as ast
from gradledger.static.source.vocabulary import BACKWARDS

WHY = "no step was followed that spends what it deposits"


def unfollowed(module: Module) -> Iterator[Unknown]:
    """The functions in the file that call a backward, and the script if it does."""
    if module.says_anywhere(BACKWARDS):
        yield from _in(module, module.tree.body, "")


def _in(module: Module, body: list[ast.stmt], owner: str) -> Iterator[Unknown]:
    for statement in body:
        if not module.says(BACKWARDS, statement):
            continue
        match statement:
            case ast.ClassDef(name=name, body=inner):
                yield from _in(module, inner, f"{name}.")
                continue
            case ast.FunctionDef(args=ast.arguments(args=[ast.arg("ctx"), *_])):
                continue  # how to differentiate a function, and no pass over a graph
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                what = f"{owner}{name}()"
            case _:
                what = THE_SCRIPT
        if any(map(_is_backward, ast.walk(statement))):
            yield Unknown(module.path, statement.lineno, what, WHY)


def _is_backward(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in ("backward", "manual_backward")
    return False
