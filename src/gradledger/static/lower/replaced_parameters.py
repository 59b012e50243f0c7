"""Methods that put new parameters where an optimizer has the old ones.

Plain enough to be told only of what a method surely does, whenever it is called, and of parameters
that the class itself has made before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradledger.ledger.places import Place
from gradledger.static import budget
from gradledger.static.domain.values import ClassDef, External, FunctionDef, Optimizer, Thing
from gradledger.static.ir.effects import Replaces
from gradledger.static.ir.keys import NO_KEYS, Keys, within
from gradledger.static.lower.attributes import bases_outside, lineage
from gradledger.static.lower.names import in_module
from gradledger.static.lower.return_values import quietly
from gradledger.static.lower.spelling import called_name
from gradledger.static.lower.untrained_modules import MOVES
from gradledger.static.models.facts import CONTAINERS, has_parameters, last
from gradledger.static.project.module import Function, Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import BACKWARDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

HANDS_OVER = Pattern(r"param_group|requires_grad", words=("param_group", "requires_grad"))
"""Words of code that gives an optimizer single tensors, or leaves some untrained."""

SETS_PARTS = Pattern(r"self(?:\.\w+)+[ \t]*=(?!=)[^\r\n]*\(", words=("self.",))
"""Words of methods that give attributes of an object, or of its parts, what they call."""


def exchange_parts(machine: Machine, method: FunctionDef, owner: Thing, call: ast.AST) -> None:
    """What a method that is not followed puts where an optimizer has the old parameters."""
    path, via = method.module.path, machine.at(call)
    for target, keys in _exchanged(machine, method, owner):
        machine.emit(Replaces(Place(path, target.lineno, target.col_offset, via), keys))


def exchanged_here(machine: Machine, target: ast.expr) -> Keys:
    """In a method that is followed: what optimizers still hold of what stood there before."""
    scope, owner = machine.context.scope, machine.context.scope.self_value
    if not isinstance(owner, Thing) or not isinstance(scope.node, Function):
        return NO_KEYS
    method = FunctionDef(scope.node, scope.module, scope.parent or "")
    found = (keys for place, keys in _exchanged(machine, method, owner) if place is target)
    return next(found, NO_KEYS)


def _exchanged(
    machine: Machine, method: FunctionDef, owner: Thing
) -> Iterator[tuple[ast.Attribute, Keys]]:
    """Where a method exchanges what optimizers have, and the keys of what these still hold."""
    if not machine.log.optimizers or not owner.key:
        return
    if getattr(method.node, "name", "") in ("__init__", "forward"):
        return
    if not method.module.says(SETS_PARTS, method.node):
        return
    modules = {method.module, *(scope.module for scope in machine.log.scopes.values())}
    if any(module.says_anywhere(HANDS_OVER) for module in modules):
        return
    for target, value in _known_assigned(machine, method.node):
        path = _below_self(target)
        if not path or _is_put_elsewhere(path[-1], target, modules):
            continue
        if _is_part_of_owned(machine, owner, path):
            if had_one(machine, owner, path) and makes_parameters(machine, value, method.module):
                yield target, frozenset({".".join([owner.key, *path])})
        elif len(path) == 1 and _makes_a_net(machine, value, method.module):
            keys = _trained_by_itself(machine, owner, path[0])
            if keys:
                yield target, keys


def _is_put_elsewhere(name: str, target: ast.Attribute, modules: Iterable[Module]) -> bool:
    """May other code put the old one back? Who makes the object puts the first one there."""
    put = (node for module in modules for node in module.late_attributes.get(name, ()))
    return any(node is not target for node in put)


def _known_assigned(machine: Machine, function: ast.AST) -> list[tuple[ast.Attribute, ast.expr]]:
    known = machine.known.assigned.get(id(function))
    if known is None:
        known = machine.known.assigned[id(function)] = list(_assigned(function))
    return known


def _assigned(function: ast.AST) -> Iterator[tuple[ast.Attribute, ast.expr]]:
    """What a function gives to attributes whenever it is called."""
    for statement in _always_run(getattr(function, "body", ())):
        match statement:
            case ast.Assign([ast.Attribute() as target], value):
                yield target, value
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
                for part, given in zip(targets, values, strict=False):
                    if isinstance(part, ast.Attribute):
                        yield part, given


def _always_run(body: Iterable[ast.stmt] | ast.expr) -> Iterator[ast.stmt]:
    """The statements up to the first that may leave, without those that have a condition."""
    for statement in body if isinstance(body, list) else ():
        if isinstance(statement, ast.With):
            yield from _always_run(statement.body)
        if any(isinstance(n, ast.Return | ast.Raise | ast.Assert) for n in ast.walk(statement)):
            return
        yield statement


def _below_self(target: ast.expr) -> list[str]:
    """`["words", "weight"]` of `self.words.weight`; empty for all else."""
    match target:
        case ast.Attribute(ast.Name("self"), name):
            return [name]
        case ast.Attribute(ast.Attribute() as inner, name) if path := _below_self(inner):
            return [*path, name]
    return []


def _is_part_of_owned(machine: Machine, owner: Thing, path: list[str]) -> bool:
    """Does an optimizer that is still at work have all of a net with this part?"""
    full = ".".join([owner.key, *path])
    return any(
        within(full, key) and full != key
        for optimizer in machine.log.optimizers.values()
        if _is_at_hand(machine, optimizer)
        for key in optimizer.keys or ()
    )


def _is_at_hand(machine: Machine, optimizer: Optimizer) -> bool:
    """Was it made here, by one who has called this, or for an object that keeps it?"""
    made_in, via = optimizer.made_at.via, machine.context.scope.via
    while via is not None and via != made_in:
        via = via.via
    return made_in == via or "." in optimizer.name


def had_one(machine: Machine, owner: Thing, path: list[str]) -> bool:
    """Does `__init__` make the layer, or the layer of which this is the weight?"""
    if len(path) > 2 or (len(path) == 2 and path[1] not in ("weight", "bias")):
        return False
    for cls in () if owner.cls is None else lineage(machine, owner.cls):
        init = cls.module.methods(cls.node).get("__init__")
        layers = {} if init is None else _known_layers(machine, init)
        if any(makes_parameters(machine, v, cls.module) for v in layers.get(path[0], ())):
            return True
    return False


def _known_layers(machine: Machine, init: ast.AST) -> dict[str, list[ast.expr]]:
    """By name, what a function gives to attributes of `self` whenever it is called."""
    known = machine.known.layers.get(id(init))
    if known is None:
        known = machine.known.layers[id(init)] = {}
        for target, value in _known_assigned(machine, init):
            path = _below_self(target)
            if len(path) == 1:
                known.setdefault(path[0], []).append(value)
    return known


def _trained_by_itself(machine: Machine, owner: Thing, name: str) -> Keys:
    """The keys of a net that an object calls, and trains by an optimizer of its own."""
    held = machine.flow.store.get(f"{owner.key}.{name}")
    if not isinstance(held, Thing) or not held.key or owner.cls is None:
        return NO_KEYS
    classes = lineage(machine, owner.cls)
    texts = [cls.module.text(cls.node) for cls in classes]
    if not any(f"self.{name}(" in text for text in texts):
        return NO_KEYS
    if not any(cls.module.says(BACKWARDS, cls.node) for cls in classes):
        return NO_KEYS
    own = (v for n, v in machine.flow.store.items() if n.startswith(f"{owner.key}."))
    for optimizer in own:
        if isinstance(optimizer, Optimizer) and held.key in (optimizer.keys or ()):
            # Made elsewhere, it may be made anew wherever the net is.
            once = any(_is_made_with(cls, optimizer) for cls in classes)
            return frozenset({held.key}) if once else NO_KEYS
    return NO_KEYS


def _is_made_with(cls: ClassDef, optimizer: Optimizer) -> bool:
    """Is it made by `__init__`, and so once for each object?"""
    init, made = cls.module.methods(cls.node).get("__init__"), optimizer.made_at
    if init is None or made.path != cls.module.path:
        return False
    return init.lineno <= made.line <= (init.end_lineno or init.lineno)


def _makes_a_net(machine: Machine, value: ast.expr, module: Module) -> bool:
    """A new one, or the copy of one?"""
    value = _unmoved(value)
    if isinstance(value, ast.Call) and called_name(value) == "deepcopy":
        return True
    return makes_parameters(machine, value, module)


def makes_parameters(machine: Machine, value: ast.expr, module: Module, depth: int = 0) -> bool:
    """Does it surely make a module or a tensor that is trained, out of nothing that was there?"""
    value = _unmoved(value)
    if not isinstance(value, ast.Call) or depth > budget.DEEPEST_CONSTRUCTION:
        return False
    made_by = quietly(machine, lambda: in_module(machine, module, value.func))
    match made_by:
        case External(dotted) if last(dotted) == "Parameter":
            return len(value.args) == 1 and not value.keywords
        case External(dotted) if has_parameters(dotted) and last(dotted) in CONTAINERS:
            # What is given to it by name may have been there before.
            calls = [isinstance(_unmoved(part), ast.Call) for part in value.args]
            return all(calls) and any(
                makes_parameters(machine, part, module, depth + 1) for part in value.args
            )
        case External(dotted):
            plain = not any("affine" in (given.arg or "affine") for given in value.keywords)
            return plain and has_parameters(dotted)
        case FunctionDef():
            return _gives_parameters(machine, made_by, depth)
        case ClassDef():
            return _has_parameters(machine, made_by, depth)
    return False


def _gives_parameters(machine: Machine, function: FunctionDef, depth: int) -> bool:
    """Is all that it returns new?"""
    returned = [n.value for n in ast.walk(function.node) if isinstance(n, ast.Return)]
    return bool(returned) and all(
        value is not None and makes_parameters(machine, value, function.module, depth + 1)
        for value in returned
    )


def _has_parameters(machine: Machine, cls: ClassDef, depth: int) -> bool:
    """Does its own `__init__` make a layer that has some?"""
    init = cls.module.methods(cls.node).get("__init__")
    if init is None or "torch.nn.Module" not in bases_outside(machine, cls):
        return False
    return any(
        makes_parameters(machine, value, cls.module, depth + 1)
        for _, value in _known_assigned(machine, init)
    )


def _unmoved(value: ast.expr) -> ast.expr:
    """`net` of `net.to(device)`."""
    while isinstance(value, ast.Call) and called_name(value) in MOVES:
        if not isinstance(value.func, ast.Attribute):
            break
        value = value.func.value
    return value
