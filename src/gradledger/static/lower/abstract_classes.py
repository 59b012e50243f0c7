"""Empty methods of abstract classes: what they do is for the classes to say that fill them in."""

from __future__ import annotations

from gradledger.static.domain.values import FunctionDef, Thing
from gradledger.static.ir.effects import HandsOver
from gradledger.static.lower.attributes import lineage
from gradledger.static.lower.scope_names import note_unknown
from gradledger.static.lower.spelling import called_name, last_name
from gradledger.static.project.module import Function
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def watch_empty_method(machine: Machine, function: FunctionDef, node: ast.AST) -> None:
    """An empty method is called: in an abstract class, whoever fills it in may clear or step."""
    own = function.bound.cls if isinstance(function.bound, Thing) else None
    cls = own or function.cls
    if cls is None or not _is_empty(function.node):
        return
    first: dict[str, ast.AST] = {}
    for owner in lineage(machine, cls):
        for statement in owner.node.body:
            if isinstance(statement, Function):
                first.setdefault(statement.name, statement)
    if any(map(_is_missing, first.values())):
        name = getattr(function.node, "name", "")
        machine.emit(HandsOver(machine.at(node)))
        note_unknown(
            machine, node, f"{name}() is empty here, and classes made of this one fill it in"
        )


def leaves_open(node: ast.AST | None) -> bool:
    """Is it a method that others are to fill in?"""
    return node is not None and (_is_empty(node) or _is_missing(node))


def _is_empty(node: ast.AST) -> bool:
    """`pass`, `...` or a text alone."""
    body = getattr(node, "body", None)
    return isinstance(body, list) and all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in body
    )


def _is_missing(node: ast.AST) -> bool:
    """Is it left to other classes, by its decorator or by what it raises?"""
    decorators = getattr(node, "decorator_list", ())
    if any(last_name(decorator) == "abstractmethod" for decorator in decorators):
        return True
    body = getattr(node, "body", ())
    match body[-1] if body else None:
        case ast.Raise(exc=ast.Call() as made):
            return called_name(made) == "NotImplementedError"
        case ast.Raise(exc=ast.Name(id=name)):
            return name == "NotImplementedError"
    return False
