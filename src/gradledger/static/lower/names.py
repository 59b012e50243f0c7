"""What names stand for: variables, definitions and imports."""

from __future__ import annotations

import builtins

from gradledger.static.domain.scopes import Scope
from gradledger.static.domain.values import (
    ClassDef,
    Constant,
    External,
    FunctionDef,
    Imported,
    Known,
    Thing,
)
from gradledger.static.domain.weights import terms_of
from gradledger.static.lower.scope_names import load
from gradledger.static.lower.spelling import last_name
from gradledger.static.lower.windows_of_one import ONE, as_option
from gradledger.static.project.module import Import, Module
from gradledger.static.project.name_uses import backwarded
from gradledger.static.project.packages import OUTSIDE
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

CONVENTIONS = {
    "torch": "torch",
    "nn": "torch.nn",
    "optim": "torch.optim",
    "F": "torch.nn.functional",
    "np": "numpy",
    "tqdm": "tqdm.tqdm",
    "amp": "apex.amp",
}
"""What everybody calls them, also where the import is out of sight."""

BUILTINS = frozenset(dir(builtins))


def eval_name(machine: Machine, node: ast.Name) -> Known:
    """The value of a name."""
    value = lookup(machine, node.id)
    return as_option(machine, node.id, value, where(machine, node.id)) if value == ONE else value


def lookup(machine: Machine, name: str) -> Known:
    """What a name stands for here, in the scopes around, or at the top of the file."""
    scope = machine.context.scope
    while True:
        value = load(machine, scope.id + name)
        if value is not None:
            return value
        if scope.parent is None:
            break
        scope = machine.log.scopes[scope.parent]
    found = defined(machine, machine.context.scope.module, name)
    if found is not None:
        return found
    if name in BUILTINS:
        return External(f"builtins.{name}")
    if name in CONVENTIONS:
        return External(CONVENTIONS[name])
    return Thing(machine.context.scope.id + name if machine.context.scope.id else name)


def full_name(machine: Machine, name: str) -> str:
    """Where a name is kept when it is assigned here."""
    scope = machine.context.scope
    if scope.node is not None and name in _declared_elsewhere(machine, scope.node):
        return name
    return scope.id + name


def where(machine: Machine, name: str) -> str:
    """Where a name is kept that is used here."""
    scope = machine.context.scope
    while scope.id + name not in machine.flow.store and scope.parent is not None:
        scope = machine.log.scopes[scope.parent]
    found = scope.id + name
    return found if found in machine.flow.store else full_name(machine, name)


def is_of_this_batch(machine: Machine, target: ast.expr) -> bool:
    """Was it made for the data at hand, with which it is let go?"""
    if isinstance(target, ast.Subscript):
        return _is_of_this_round(machine, target.value) or is_of_this_batch(machine, target.value)
    if isinstance(target, ast.Attribute):
        owner = machine.eval(target.value)
        return isinstance(owner, Thing) and owner.key in machine.context.loops[-1].born
    if not isinstance(target, ast.Name):
        return False
    return full_name(machine, target.id) in machine.context.fresh or _is_of_this_call(
        machine, target.id
    )


def _is_of_this_call(machine: Machine, name: str) -> bool:
    """Does it begin anew with each call of the function at hand, which each round makes?"""
    scope = machine.context.scope
    if scope.loops < len(machine.context.loops) or not isinstance(scope.node, ast.FunctionDef):
        return False
    value = lookup(machine, name)
    new = False
    if isinstance(value, Thing) and value.sure and value.reach and not value.kept:
        # What was computed since the round began is new, whatever it was taken from.
        new = value.depth == len(machine.context.loops)
    from gradledger.static.lower.call_locals import begins_in

    return begins_in(scope.node, name, new=new)


def _is_of_this_round(machine: Machine, holder: ast.expr) -> bool:
    """Was that which holds an item made since the round of the loop at hand began?"""
    loop, key = machine.context.loops[-1], key_of(machine, holder)
    return key in loop.assigned and key not in loop.read


def key_of(machine: Machine, spelled: ast.expr) -> str:
    """Where that which is spelled like this is kept; empty where nobody knows."""
    match spelled:
        case ast.Name(id=name):
            return where(machine, name)
        case ast.Attribute(value=base, attr=name):
            owner = machine.eval(base)
            return f"{owner.key}.{name}" if isinstance(owner, Thing) and owner.key else ""
        case _:
            return ""


def defined(machine: Machine, module: Module, name: str, depth: int = 0) -> Known | None:
    """What the top level of a module defines by this name."""
    key = id(module), name
    if depth or key not in machine.known.definitions:
        value = _defined(machine, module, name, depth)
        if depth:
            return value
        machine.known.definitions[key] = value
    value = machine.known.definitions[key]
    if isinstance(value, FunctionDef):
        module_scope(machine, value.module)  # of this walk, whoever has asked before
    return value


def _defined(machine: Machine, module: Module, name: str, depth: int) -> Known | None:
    found = module.definitions.get(name)
    match found:
        case None:
            return _by_star(machine, module, name, depth)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return FunctionDef(found, module, module_scope(machine, module))
        case ast.ClassDef():
            return ClassDef(found, module)
        case ast.Constant(value):
            return Constant.of(value)
        case Import() if depth < 6:
            return _imported(machine, module, found, depth)
        case _:
            return None


def _by_star(machine: Machine, module: Module, name: str, depth: int) -> Known | None:
    for star in module.stars if depth < 3 and len(module.stars) < 8 else ():
        top = star.module.partition(".")[0]
        if not star.level and top in OUTSIDE:
            continue
        other = machine.project.imported(module, star.module, star.level)
        if other is not None and other is not module:
            value = defined(machine, other, name, depth + 1)
            if value is not None:
                return value
    return None


def module_scope(machine: Machine, module: Module) -> str:
    """The scope of a module's top level."""
    if module is machine.log.scopes[""].module:
        return ""
    id = f"{module.path}:"
    if id not in machine.log.scopes:
        machine.log.scopes[id] = Scope(id, module)
    return id


def _imported(machine: Machine, by: Module, wanted: Import, depth: int) -> Known:
    top = wanted.module.partition(".")[0]
    dotted = ".".join(filter(None, (wanted.module, wanted.name)))
    if not wanted.level and top in OUTSIDE:
        return External(dotted)
    if not wanted.name:
        module = machine.project.imported(by, wanted.module, wanted.level)
        return External(dotted) if module is None else Imported(module.path, module)
    module = (
        machine.project.imported(by, wanted.module, wanted.level)
        if wanted.module or (wanted.level)
        else None
    )
    if module is not None:
        value = defined(machine, module, wanted.name, depth + 1)
        if value is not None:
            return value
        inner = machine.project.submodule(module, wanted.name)
        if inner is not None:
            return Imported(inner.path, inner)
    inside = ".".join(filter(None, (wanted.module, wanted.name)))
    module = machine.project.imported(by, inside, wanted.level)
    return External(dotted) if module is None else Imported(module.path, module)


def in_module(machine: Machine, module: Module, node: ast.expr) -> Known:
    """The value of an expression at the top level of a module."""
    with machine.within(scope=machine.log.scopes[module_scope(machine, module)]):
        return machine.eval(node)


def _declared_elsewhere(machine: Machine, node: ast.AST) -> frozenset[str]:
    """Names that a function says are global."""
    known = machine.known.declared.get(id(node))
    if known is None:
        body = getattr(node, "body", None)
        said = body if isinstance(body, list) else []
        known = frozenset(n for s in said if isinstance(s, ast.Global) for n in s.names)
        machine.known.declared[id(node)] = known
    return known


def names_walked_back(machine: Machine) -> set[str]:
    """Names on which this function calls backward."""
    scope = machine.context.scope
    key = id(scope.module if scope.node is None else scope.node)
    known = machine.known.backwarded.get(key)
    if known is None:
        module = scope.module
        text = module.source if scope.node is None else module.text(scope.node)
        known = machine.known.backwarded[key] = backwarded(text)
    return known


def loss_terms(machine: Machine) -> frozenset[str]:
    """Names of the terms of the losses on which this function calls backward."""
    scope = machine.context.scope
    tree = scope.module.tree if scope.node is None else scope.node
    known = machine.known.loss_terms.get(id(tree))
    if known is None:
        losses = names_walked_back(machine)
        known = frozenset(
            term
            for node in (ast.walk(tree) if losses else ())
            if isinstance(node, ast.Assign | ast.AugAssign)
            and isinstance(node.value, ast.BinOp)
            and not losses.isdisjoint(map(last_name, _targets(node)))
            for term in terms_of(node.value)
        )
        machine.known.loss_terms[id(tree)] = known
    return known


def _targets(node: ast.Assign | ast.AugAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]
