"""Modules that a file makes and calls, and does nothing else with: nobody trains them."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.static.lower.spelling import called_name
from gradledger.static.models.facts import GRADIENT
from gradledger.static.source import syntax as ast

MOVES = frozenset({"to", "cuda", "cpu", "float", "double", "half", "bfloat16", "train"})
"""Methods of a module that give it back, with the same parameters."""


def only_called(tree: ast.Module) -> frozenset[str]:
    """The names of modules that are made and called, or looked at, and nothing else."""
    made = frozenset(name for node in ast.walk(tree) for name in _made_in(node))
    return made - frozenset(_handed_on(tree))


def _handed_on(tree: ast.Module) -> Iterator[str]:
    """Names that are not only made, called, or looked at: somebody may do more with them."""
    for parent in ast.walk(tree):
        match parent:
            case ast.Assign(targets):
                made = set(_made_in(parent))
                for name in ast.walk(ast.Tuple(targets, ast.Store())):
                    if isinstance(name, ast.Name) and name.id not in made:
                        yield name.id
                if isinstance(parent.value, ast.Name):
                    yield parent.value.id
            case ast.Attribute(attr="requires_grad_"):
                yield from (n.id for n in ast.walk(parent) if isinstance(n, ast.Name))
            case ast.Attribute() | ast.Subscript():
                pass
            case ast.Tuple(ctx=ast.Store()):
                pass
            case _:
                for child in ast.iter_child_nodes(parent):
                    called = isinstance(parent, ast.Call) and parent.func is child
                    if isinstance(child, ast.Name) and not called:
                        yield child.id


def followers(tree: ast.AST) -> frozenset[str]:
    """How modules are spelled whose parameters get the data of others, and nothing else.

    `for t, p in zip(target.parameters(), net.parameters()): t.data.copy_(p.data)` trains nothing.
    """
    spoken_of: list[str] = []
    written: list[str] = []
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(net, "parameters" | "named_parameters")):
                spoken_of.append(ast.unparse(net))
            case ast.For(ast.Tuple(elts=parts), ast.Call(ast.Name(id="zip"), args=nets)):
                for part, net in zip(parts, nets, strict=False):
                    match part, net:
                        case ast.Name(id=one), ast.Call(ast.Attribute(given, "parameters")):
                            if all(_writes_data(statement, one) for statement in node.body):
                                written.append(ast.unparse(given))
    return frozenset(name for name in written if spoken_of.count(name) == written.count(name))


def _writes_data(statement: ast.stmt, name: str) -> bool:
    """`name.data.copy_(…)`, `name.data.mul_(…).add_(…)`, `name.data = …`, of no gradient?"""
    target: ast.expr
    match statement:
        case ast.Expr(ast.Call() as call):
            target = call
        case ast.Assign(targets=[ast.Attribute(attr="data") as data]):
            target = data
        case _:
            return False
    if any(
        isinstance(inner, ast.Attribute) and inner.attr in GRADIENT for inner in ast.walk(statement)
    ):
        return False
    into = ""
    while isinstance(target, ast.Call | ast.Attribute):
        into = target.attr if isinstance(target, ast.Attribute) else into
        target = target.func if isinstance(target, ast.Call) else target.value
    return isinstance(target, ast.Name) and target.id == name and into == "data"


def _made_in(node: ast.AST) -> Iterator[str]:
    """The names that an assignment gives to modules which it makes, with all their parameters."""
    if not isinstance(node, ast.Assign):
        return
    for target in node.targets:
        targets, values = [target], [node.value]
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            targets, values = target.elts, node.value.elts
        for name, value in zip(targets, values, strict=False):
            if isinstance(name, ast.Name) and makes_a_net(value):
                yield name.id


def makes_a_net(value: ast.expr) -> bool:
    """`Net(…).to(device)`, `copy.deepcopy(net)`: may it be one, with all its parameters?"""
    while isinstance(value, ast.Call) and called_name(value) in MOVES:
        value = value.func.value if isinstance(value.func, ast.Attribute) else value.func
    if not isinstance(value, ast.Call) or any("affine" in (k.arg or "") for k in value.keywords):
        return False
    return called_name(value)[:1].isupper() or called_name(value) == "deepcopy"
