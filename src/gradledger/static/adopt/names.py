"""What the function around the loop calls its model and its scaler, and which names stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradledger.static.domain.values import Known, Scaler, Thing
from gradledger.static.fix.calls import plain, rebound
from gradledger.static.fix.script import Scope, Script, Statement
from gradledger.static.ir.keys import Keys
from gradledger.static.lower.root import Root
from gradledger.static.source import syntax as ast


def value_of(root: Root, node: ast.expr, scope: Scope | None = None) -> Known | None:
    """What a plain name stands for, at the end of the walk; None where that isn't known."""
    name = plain(node)
    if name is None or root.machine is None:
        return None
    store = root.machine.flow.store
    for prefix in [*_prefixes(root, scope), ""]:
        first, *attributes = name.split(".")
        value = store.get(prefix + first)
        for attribute in attributes:
            value = store.get(f"{value.key}.{attribute}") if isinstance(value, Thing) else None
        if value is not None:
            return value
    return None


def models(root: Root, scope: Scope, keys: Keys) -> Iterator[str]:
    """The plain names in a function by which it knows the objects with these keys."""
    if root.machine is None:
        return
    store = root.machine.flow.store
    known = list(store.items())
    for prefix in dict.fromkeys([*_prefixes(root, scope), ""]):
        for full, value in known:
            name = full[len(prefix) :]
            if not full.startswith(prefix) or not name.isidentifier():
                continue
            if isinstance(value, Thing) and value.key in keys and not value.plain:
                yield name
            elif isinstance(value, Thing) and name == "self":
                for key in (full for full, held in known if _is_held(full, held, value, keys)):
                    yield f"self.{key.removeprefix(value.key + '.')}"


def scaler_of(root: Root, scope: Scope, node: ast.expr) -> str | None:
    """The name of a GradScaler, where the expression is one."""
    return plain(node) if isinstance(value_of(root, node, scope), Scaler) else None


def expressions(node: ast.stmt) -> Iterator[ast.expr]:
    """Those of a statement, without those of the statements in its body."""
    todo: list[ast.AST] = [node]
    while todo:
        each = todo.pop()
        if isinstance(each, ast.expr):
            yield each
        todo += [c for c in ast.iter_child_nodes(each) if not isinstance(c, ast.stmt)]


def stays(node: ast.expr, statement: Statement, loops: Iterable[ast.stmt], script: Script) -> bool:
    """True if an expression has one value, in front of a statement and in the loops there."""
    if not all(isinstance(inner, _STEADY) for inner in ast.walk(node)):
        return False
    names = {plain(n) for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)}
    behind = list(loops)
    return not any(
        rebound(name, behind) or not _is_bound_before(name, statement, script)
        for name in names
        if name is not None
    )


_STEADY = (
    ast.Name, ast.Attribute, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp,
    ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop,
)  # fmt: skip


def _is_bound_before(name: str, statement: Statement, script: Script) -> bool:
    """True if the function binds the name before the statement, or nowhere: then it has it from
    outside.
    """
    first = name.partition(".")[0]
    scope = statement.scope
    stores = _bindings(script, scope, first)
    return not stores or _is_given(scope, first) or min(stores) < statement.node.lineno


def is_made(script: Script, scope: Scope, name: str) -> bool:
    """True if a function binds this name itself, and isn't given it, or what it is part of."""
    first = name.partition(".")[0]
    return not _is_given(scope, first) and bool(_bindings(script, scope, first))


def _bindings(script: Script, scope: Scope, name: str) -> list[int]:
    """The lines on which a function gives something to a name."""
    return [
        node.lineno
        for inner in script.within(scope)
        for node in expressions(inner.node)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]


def _is_given(scope: Scope, name: str) -> bool:
    return name in [argument.arg for argument in _arguments(scope)]


def _arguments(scope: Scope) -> list[ast.arg]:
    if not isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    taken = scope.args
    return [*taken.posonlyargs, *taken.args, *taken.kwonlyargs]


def _prefixes(root: Root, scope: Scope | None) -> list[str]:
    """What stands in front of the names of a function, once for each of its calls."""
    assert root.machine is not None
    if scope is None or isinstance(scope, ast.Module):
        return [""]
    return [id for id, known in root.machine.log.scopes.items() if known.node is scope]


def _is_held(full: str, held: Known, holder: Thing, keys: Keys) -> bool:
    owned = full.startswith(f"{holder.key}.") and "." not in full[len(holder.key) + 1 :]
    return owned and isinstance(held, Thing) and held.key in keys and not held.plain
