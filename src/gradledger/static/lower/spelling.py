"""What pieces of code are called where they stand."""

from __future__ import annotations

from gradledger.static.source import syntax as ast


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


def decided_by(index: ast.expr) -> str:
    """The name of which each value gives another index: `i` of `i`, `str(i)` and `f"net{i}"`."""
    match index:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id="str"), args=[inner], keywords=[]):
            return decided_by(inner)
        case ast.JoinedStr(values=parts):
            told = [part.value for part in parts if isinstance(part, ast.FormattedValue)]
            return decided_by(told[0]) if len(told) == 1 else ""
    return ""
