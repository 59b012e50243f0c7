"""What a function is, by its text alone: its length, whether it has a graph, yields or cuts."""

from __future__ import annotations

from gradledger.static import budget
from gradledger.static.domain.scopes import DATA, Callee
from gradledger.static.domain.values import FunctionDef, Thing
from gradledger.static.lower.spelling import called_name
from gradledger.static.source import syntax as ast
from gradledger.static.source.vocabulary import (
    BACKWARDS,
    CUTS,
    DETACHES,
    NO_GRADIENTS,
    OPTIMIZES,
    TOUCHES,
    UPDATES,
)

HARMLESS_DECORATORS = frozenset(
    ["staticmethod", "classmethod", "property", "main", "command", "option", "argument"]
)
"""What they change is how a function is called."""


def callee_of(function: FunctionDef) -> Callee:
    """What decides what a function does: its text, and whose methods it calls."""
    own = function.bound.cls if isinstance(function.bound, Thing) else None
    cls = own or function.cls
    return id(function.node), 0 if cls is None else id(cls.node)


def cuts(function: FunctionDef) -> bool:
    """May its result have no graph, whatever it is given?"""
    node, module = function.node, function.module
    return module.says(CUTS, node) or module.says(NO_GRADIENTS, node) or has_no_graph(node)


def has_no_graph(node: ast.AST) -> bool:
    """`@torch.no_grad()`: is nothing that it computes differentiable?"""
    decorators = map(ast.unparse, getattr(node, "decorator_list", ()))
    return any("no_grad" in name or "inference_mode" in name for name in decorators)


def is_decorated(node: ast.AST) -> bool:
    """Is there a decorator that may do anything around what the function does?"""
    decorators = map(called_name, getattr(node, "decorator_list", ()))
    return any(name not in HARMLESS_DECORATORS for name in decorators)


def length_of(node: ast.stmt | ast.expr) -> int:
    """In lines, without the first."""
    return (node.end_lineno or node.lineno) - node.lineno


def goes_on_for_ever(function: ast.AST) -> bool:
    """Is it a generator that begins again when its data has ended: `while True` around a `for`?"""
    body = getattr(function, "body", ())
    last = body[-1] if isinstance(body, list) and body else None
    return (
        isinstance(last, ast.While)
        and isinstance(last.test, ast.Constant)
        and bool(last.test.value)
        and not any(isinstance(inner, ast.Break | ast.Return) for inner in ast.walk(last))
        and any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in ast.walk(last))
    )


def yields(function: FunctionDef) -> bool:
    """Whether it is a generator."""
    body = getattr(function.node, "body", None)
    if not isinstance(body, list) or "yield" not in function.module.text(function.node):
        return False
    todo: list[ast.AST] = list(body)
    while todo:
        inner = todo.pop()
        if isinstance(inner, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(inner, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(inner))
    return False


def touches(function: FunctionDef) -> bool:
    """Whether it says something of gradients, or is small and cuts graphs."""
    node, module = function.node, function.module
    small = length_of(node) < budget.SMALL_FUNCTION
    return module.says(TOUCHES, node) or (small and module.says(DETACHES, node))


def is_in_sight(function: FunctionDef) -> bool:
    """Whether a backward, or what does one, stands in its file."""
    node, module = function.node, function.module
    does = module.says_anywhere(BACKWARDS) or module.says_anywhere(UPDATES)
    return does or module.says(OPTIMIZES, node)


def sums_over_data(function: FunctionDef) -> bool:
    """Does it add up tensors in a loop over data, and say nowhere that they have no graph?"""
    if function.module.says(NO_GRADIENTS, function.node) or is_decorated(function.node):
        return False
    return any(
        isinstance(inner, ast.AugAssign)
        and isinstance(inner.op, ast.Add)
        and not isinstance(inner.value, ast.Constant)
        and ".item(" not in function.module.text(inner)
        for loop in ast.walk(function.node)
        if isinstance(loop, ast.For) and DATA.search(ast.unparse(loop.iter))
        for inner in ast.walk(loop)
    )
