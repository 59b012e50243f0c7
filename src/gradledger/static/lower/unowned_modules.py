"""Modules of the project's own, with weights of their own, that no optimizer is given.

The usual one is a loss: `ArcFace(128, 10)`, `CenterLoss(…)`. It may go from function to function.
Told only where all that the code in sight does with it, by whatever name, is to make it once, to
hand it on, and to call it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.static.domain.values import ClassDef, Items, Thing
from gradledger.static.lower.attributes import bases_outside, lineage
from gradledger.static.lower.spelling import called_name
from gradledger.static.lower.untrained_attributes import (
    LOOKS,
    OTHER_WAYS,
    calls_a_layer,
    may_cut_graphs,
)
from gradledger.static.lower.untrained_modules import MOVES
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

_Definition = ast.FunctionDef | ast.ClassDef


def never_owned(machine: Machine) -> Iterator[str]:
    """The keys of modules that are surely called, and whose parameters nobody asks for."""
    nets = {
        thing.key: thing.cls
        for thing in machine.flow.store.values()
        if isinstance(thing, Thing) and thing.cls is not None and thing.key and not thing.plain
        if thing.key not in machine.log.in_doubt and _has_weights(machine, thing.cls)
    }
    if not nets:
        return
    modules = {scope.module for scope in machine.log.scopes.values()}
    if any(module.says_anywhere(OTHER_WAYS) for module in modules):
        return
    code = _Code([module.tree for module in modules])
    for key, cls in nets.items():
        names = _names(machine, key)
        if names and code.only_calls(cls.node.name, names):
            yield key


def _has_weights(machine: Machine, cls: ClassDef) -> bool:
    """Has it surely parameters of its own, that its forward computes with?"""
    if bases_outside(machine, cls) != ["torch.nn.Module"] or len(lineage(machine, cls)) != 1:
        return False
    return calls_a_layer(cls) or _computes_with_a_parameter(cls)


def _computes_with_a_parameter(cls: ClassDef) -> bool:
    methods = cls.module.methods(cls.node)
    init, forward = methods.get("__init__"), methods.get("forward")
    if init is None or forward is None or may_cut_graphs(cls):
        return False
    weights = {
        target.attr
        for node in ast.walk(init)
        if isinstance(node, ast.Assign) and called_name(node.value) == "Parameter"
        for target in node.targets
        if isinstance(target, ast.Attribute)
    }
    used = {node.attr for node in ast.walk(forward) if isinstance(node, ast.Attribute)}
    return not weights.isdisjoint(used)


def _names(machine: Machine, key: str) -> frozenset[str]:
    """What the code calls it, or a list that it is in; none where a module may hold it."""
    names: set[str] = set()
    for full, value in machine.flow.store.items():
        held = value.values if isinstance(value, Items) else (value,)
        if not any(isinstance(thing, Thing) and thing.key == key for thing in held):
            continue
        owner, dot, name = full.rpartition(".")
        if dot:
            holder = machine.flow.store.get(owner)
            if not isinstance(holder, Thing) or holder.cls is None or holder.cls.node.bases:
                return frozenset()
        names.add(name.rpartition(":")[2])
    return frozenset(name for name in names - {"self"} if name.isidentifier())


class _Code:
    """All the code in sight."""

    def __init__(self, trees: list[ast.Module]) -> None:
        self._nodes = [node for tree in trees for node in ast.walk(tree)]
        self._parents = {
            child: node for node in self._nodes for child in ast.iter_child_nodes(node)
        }
        self._defined: dict[str, list[_Definition]] = {}
        for node in self._nodes:
            if isinstance(node, _Definition):
                self._defined.setdefault(node.name, []).append(node)

    def only_calls(self, cls: str, names: frozenset[str]) -> bool:
        """Is one made of this class, handed on under these names, called, and no more?"""
        made = [n for n in self._nodes if isinstance(n, ast.Call) and called_name(n.func) == cls]
        spoken_of = [n for n in self._nodes if isinstance(n, ast.Name) and n.id == cls]
        if len(made) != 1 or len(spoken_of) != 1 or not self._goes_to(made[0], names):
            return False
        return all(
            self._is_harmless(node, names, made[0])
            for node in self._nodes
            if (isinstance(node, ast.Name) and node.id in names)
            or (isinstance(node, ast.Attribute) and node.attr in names)
        )

    def _is_harmless(
        self, node: ast.Name | ast.Attribute, names: frozenset[str], made: ast.Call
    ) -> bool:
        if isinstance(node.ctx, ast.Store):
            value = self._value_for(node)
            values = value.elts if isinstance(value, ast.List) else [value] if value else []
            return any(_unmoved(v) is made or _last(_unmoved(v)) in names for v in values)
        match self._parents[node]:
            case ast.Call(func=func) if func is node:
                return True
            case ast.Attribute(attr=name) as method if name in LOOKS:
                return isinstance(self._parents[method], ast.Call)
        return self._goes_to(node, names)

    def _goes_to(self, node: ast.expr, names: frozenset[str]) -> bool:
        """Is it given one of these names, by an assignment or by a call?"""
        parent, itself = self._parents[node], node
        while isinstance(parent, ast.Attribute | ast.Call) and _unmoved(parent) is itself:
            node, parent = parent, self._parents[parent]
        match parent:
            case ast.Call(args=given) if node in given:
                return self._argument(parent, given.index(node)) in names
            case ast.keyword(arg=name):
                return name in names and self._argument(self._parents[parent], name) in names
            case ast.Assign(targets=[target]):
                return _last(target) in names
            case ast.List():
                return self._goes_to(parent, names)
            case ast.For(target=target) | ast.comprehension(target=target):
                return _last(target) in names
            case ast.Tuple(elts=parts):
                match self._parents[parent]:
                    case ast.Assign(targets=[ast.Tuple(elts=targets)]):
                        place = parts.index(node)
                        return place < len(targets) and _last(targets[place]) in names
        return False

    def _argument(self, call: ast.AST, which: int | str | None) -> str:
        """The name by which a function in sight, or a plain class, takes what it is given there."""
        known = self._defined.get(called_name(call), []) if isinstance(call, ast.Call) else []
        if len(known) != 1:
            return ""
        (function,) = known
        bound = isinstance(self._parents[function], ast.ClassDef)
        if isinstance(function, ast.ClassDef):
            methods = [n for n in function.body if isinstance(n, ast.FunctionDef)]
            begins = [method for method in methods if method.name == "__init__"]
            if function.bases or not begins:
                return ""
            function, bound = begins[0], True
        names = [argument.arg for argument in function.args.args][bound:]
        if isinstance(which, int):
            return names[which] if which < len(names) else ""
        return which if which in names else ""

    def _value_for(self, target: ast.expr) -> ast.expr | None:
        """What is assigned to it."""
        match self._parents[target]:
            case ast.Assign(targets=[only], value=value) if only is target:
                return value
            case ast.For(target=only, iter=items) | ast.comprehension(target=only, iter=items) if (
                only is target
            ):
                return items
            case ast.Tuple(elts=targets) as several:
                match self._parents[several]:
                    case ast.Assign(value=ast.Tuple(elts=values)) if len(values) == len(targets):
                        return values[targets.index(target)]
        return None


def _unmoved(value: ast.expr) -> ast.expr:
    """`Net()` of `Net().to(device)`."""
    match value:
        case ast.Call(func=ast.Attribute(value=inner, attr=name)) if name in MOVES:
            return _unmoved(inner)
        case ast.Attribute(value=inner, attr=name) if name in MOVES:
            return _unmoved(inner)
    return value


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
