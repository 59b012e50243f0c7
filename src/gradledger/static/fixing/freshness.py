"""Is all that a backward walks made in the same turn of its loop?

A graph from before the loop, or from the turn before, is walked again by every turn, and has to be
retained. The checker knows this of what it can follow; an edit that may crash wants it of all names.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from gradledger.static.fixing.calls import calls, method
from gradledger.static.fixing.script import Script, Statement

_MAKES_BLOCKS = (ast.With, ast.AsyncWith)


def made_anew(script: Script, backward: Statement) -> bool:
    """Can every name behind what is walked be traced to a statement earlier in this turn?"""
    loop = backward.loop
    if loop is None or isinstance(loop, ast.While):
        return False
    walks = [c for c in calls(loop) if "backward" in method(c) or method(c) == "grad"]
    if len(walks) != 1:
        return False
    inside = list(script.within(loop))
    callables = _callables(script.tree)
    given = _stored(loop.target)
    todo, seen = [backward], {id(backward)}
    while todo:
        reader = todo.pop()
        for name in _data(reader.node):
            if name in given or name in callables:
                continue
            makers = [s for s in inside if name in _bound(s.node) and _before(s, reader)]
            if not any(_always_before(maker, reader) for maker in makers):
                return False
            new = [maker for maker in makers if id(maker) not in seen]
            seen |= {id(maker) for maker in new}
            todo += new
    return True


def _data(node: ast.stmt) -> set[str]:
    """The names whose values a statement uses, other than to call them."""
    called = {id(base) for call in calls(node) for base in _bases(call.func)}
    return {
        inner.id
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name)
        and isinstance(inner.ctx, ast.Load)
        and id(inner) not in called
        and not hasattr(builtins, inner.id)
    } | _added_to(node)


def _bases(function: ast.expr) -> Iterator[ast.Name]:
    """`torch` of `torch.nn.functional.relu`, `model` of `model(x)`; not `loss` of `loss.mean()`."""
    if isinstance(function, ast.Name):
        yield function


def _added_to(node: ast.stmt) -> set[str]:
    return _stored(node.target) if isinstance(node, ast.AugAssign) else set()


def _bound(node: ast.stmt) -> set[str]:
    """The names that a simple statement gives a value."""
    match node:
        case ast.Assign(targets=targets):
            return set().union(*map(_stored, targets))
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            return _stored(target)
    return set()


def _stored(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _callables(tree: ast.Module) -> frozenset[str]:
    """Modules, functions, and what is asked for its parameters: no graph is in their names."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                names |= {(alias.asname or alias.name).partition(".")[0] for alias in aliases}
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Attribute(value=ast.Name(id=name), attr="parameters" | "state_dict"):
                names.add(name)
            case ast.Call(func=ast.Name(id=name)):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant()):
                names.add(name)
    return frozenset(names)


def _before(maker: Statement, reader: Statement) -> bool:
    return maker.node.lineno < reader.node.lineno


def _always_before(maker: Statement, reader: Statement) -> bool:
    """Does it run on every way to the reader, in the same turn?"""
    above: Statement | None = maker
    while above is not None and isinstance(above.parent and above.parent.node, _MAKES_BLOCKS):
        above = above.parent  # what a `with` holds is run with it
    around: Statement | None = reader
    while around is not None and above is not None:
        if around.block is above.block:
            return above.index < around.index
        around = around.parent
    return False
