"""What pieces of code are called where they stand."""

from __future__ import annotations

import ast


def last_name(node: ast.AST) -> str:
    """`step` of `self.step`, and a plain name; empty for what has none."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def called_name(node: ast.expr) -> str:
    """The last name of what is called: `no_grad` of `torch.no_grad()`."""
    func = node.func if isinstance(node, ast.Call) else node
    return called_name(func) if isinstance(func, ast.Call) else last_name(func)


def is_static(function: ast.AST) -> bool:
    """Is it a method that is given no object?"""
    decorators = getattr(function, "decorator_list", [])
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in decorators)
