"""What gets a name: variables, attributes, items, and what stood there before."""

from __future__ import annotations

from itertools import islice

from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    NONE,
    PLAIN,
    RECIPE,
    UNKNOWN,
    Constant,
    Count,
    Items,
    Known,
    Optimizer,
    Thing,
    is_plain,
    kept_in,
)
from gradledger.static.domain.weights import MEAN
from gradledger.static.ir.effects import Replaces
from gradledger.static.ir.keys import NO_KEYS, Keys, within
from gradledger.static.lower.attributes import LABELLED
from gradledger.static.lower.expressions import release
from gradledger.static.lower.names import full_name, names_walked_back, where
from gradledger.static.lower.scope_names import file_uses, note_holder
from gradledger.static.lower.unknown_calls import freeze
from gradledger.static.lower.value_names import bind, register
from gradledger.static.models.facts import has_parameters, last
from gradledger.static.project.name_uses import OF_MODELS
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern, literal, says

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

COUNTS = Pattern(
    r"(?:\b|_)(?:ids?|id[xs]|ind(?:ex(?:es)?|ices)|masks?|len(?:s|gths?)?)(?:_|\b)",
    words=("id", "ind", "mask", "len"),
)
"""Names of whole numbers, one of several things that a call gives: these have no gradients."""
_NAMES = Pattern(r"[A-Za-z_]\w*")
GROUPS = Pattern(r"param_group", words=("param_group",))
"""Words of code that gives an optimizer single tensors, or takes them from it."""


def assign(machine: Machine, target: ast.expr, value: Known) -> None:
    """Gives names to a value."""
    match target:
        case ast.Name(id=name):
            _assign_name(machine, target, full_name(machine, name), value, name)
        case ast.Attribute(value=base, attr=name):
            owner = machine.eval(base)
            if isinstance(owner, Thing) and owner.key:
                _assign_name(machine, target, f"{owner.key}.{name}", value, ast.unparse(target))
        case ast.Subscript():
            _assign_item(machine, target, value)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            _unpack(machine, targets, value)
        case ast.Starred(value=inner):
            machine.assign(inner, value)


def _assign_name(machine: Machine, target: ast.expr, full: str, value: Known, shown: str) -> None:
    before = machine.flow.store.get(full)
    if isinstance(target, ast.Attribute | ast.Subscript) and isinstance(value, Thing):
        replaced = _exchanged(machine, target)
        if not replaced and not _is_new_to_its_object(machine, target):
            replaced = _replaced(machine, full, value, target)
        if replaced:
            machine.emit(Replaces(machine.at(target), replaced))
        if isinstance(target, ast.Attribute) and (value.built or value.cls):
            freeze(machine, frozenset({full}), Constant.of(True))
    if before is not None:
        gone = kept_in(before) - kept_in(value)
        if gone and machine.context.loops:
            release(machine, gone, target)
    short = shown.rpartition(".")[2]
    if isinstance(value, Thing) and value.plain and file_uses(machine).of(short) & OF_MODELS:
        value = UNKNOWN  # no data, though it is made of nothing but data
    elif isinstance(value, Thing) and value.sure:
        value = _net_or_tensor(machine, value, short)
    if (
        isinstance(value, Thing)
        and (value.reach or value.maybe)
        and short in names_walked_back(machine)
    ):
        value = replace(value, sure=True, by_name=value.by_name or not value.sure)
    if isinstance(value, Thing) and value.among:
        # Of several outputs, only a loss surely has a graph.
        value = replace(
            value, among="loss" not in short.lower() and short not in names_walked_back(machine)
        )
    bind(machine, full, value, target, shown)


def _net_or_tensor(machine: Machine, value: Thing, name: str) -> Thing:
    """What was computed; `net = self.net()` is itself a net, if it is asked for parameters."""
    recipe = value.built == RECIPE
    built = "" if recipe else value.built
    if value.key or value.leaf or not file_uses(machine).of(name) & OF_MODELS:
        return replace(value, built=built)
    # Of a recipe alone, it is another one each time.
    reach = NO_KEYS if recipe else value.reach
    return replace(value, sure=False, reach=reach, built=built)


def _another_is_made(machine: Machine, target: ast.expr) -> bool:
    """Does the file hand its parameters over a second time, those that there are then?"""
    if isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
    owners = "|".join(
        literal(name) for name in _NAMES.findall(ast.unparse(target)) if name != "self"
    )
    asked = id(machine.context.scope.module), owners
    known = machine.known.handed_again.get(asked)
    if known is None:
        handed = Pattern(rf"\b(?:{owners})\b(?:[\w.]|\[[^][]*\])*\.parameters\(")
        lines = filter(handed.search, machine.context.scope.module.handing_over)
        known = machine.known.handed_again[asked] = len(list(islice(lines, 2))) > 1
    return known


def _exchanged(machine: Machine, target: ast.expr) -> Keys:
    """In a method: what optimizers still hold of what its object had in this place."""
    if not machine.log.optimizers or machine.context.scope.self_value is None:
        return NO_KEYS
    from gradledger.static.lower.replaced_parameters import exchanged_here

    return exchanged_here(machine, target)


def _is_new_to_its_object(machine: Machine, target: ast.expr) -> bool:
    """Does a method give it to its object, whose class has made none to begin with?"""
    own = machine.context.scope.self_value
    match target:
        case ast.Attribute(ast.Name("self"), name) if isinstance(own, Thing) and own.cls:
            from gradledger.static.lower.replaced_parameters import had_one

            return not had_one(machine, own, [name])
    return False


def _replaced(machine: Machine, full: str, value: Thing, target: ast.expr) -> Keys:
    """`model.head = nn.Linear(…)` after an optimizer got the old head's parameters: its key."""
    tensor = value.leaf and last(value.built) == "Parameter"
    if not (has_parameters(value.built) or tensor) or machine.flow.store.get(full) == NONE:
        return NO_KEYS
    if _another_is_made(machine, target):
        return NO_KEYS
    held = [o.keys or NO_KEYS for o in machine.log.optimizers.values()]
    if value.key and any(within(value.key, key) for keys in held for key in keys):
        return NO_KEYS  # whoever has the old one has the new one too
    if (tensor or isinstance(target, ast.Subscript)) and not _was_there(machine, target):
        return NO_KEYS
    for optimizer in machine.log.optimizers.values():
        if (
            optimizer.made_at.via not in (None, machine.context.scope.via)
            and "." not in optimizer.name
        ):
            continue  # it was another function's own, and is gone
        if any(within(full, key) and full != key for key in optimizer.keys or ()):
            return frozenset({full})
    return NO_KEYS


def _was_there(machine: Machine, target: ast.expr) -> bool:
    """Did the model surely have one in this place, which nobody hands over by itself?"""
    if machine.context.scope.module.says_anywhere(GROUPS):
        return False
    if isinstance(target, ast.Attribute):
        return target.attr in ("weight", "bias")
    index = machine.eval(target.slice) if isinstance(target, ast.Subscript) else None
    return isinstance(index, Constant) and isinstance(index.value, int)


def _assign_item(machine: Machine, target: ast.Subscript, value: Known) -> None:
    base, index = machine.eval(target.value), machine.eval(target.slice)
    shown = ast.unparse(target)
    if isinstance(index, Constant):  # whatever the code calls the key
        shown = f"{ast.unparse(target.value)}[{index.value!r}]"
    if isinstance(base, Thing) and base.key:
        which = repr(index.value) if isinstance(index, Constant) else "*"
        _assign_name(machine, target, f"{base.key}[{which}]", value, shown)
    elif isinstance(base, Items) and isinstance(index, Constant):
        if isinstance(value, Optimizer) and not value.name:
            value = register(machine, replace(value, name=shown))
        pairs = dict(zip(base.names, base.values, strict=False)) if base.names else {}
        if base.names or not base.values:
            pairs[index.value] = value
            machine.rebind(target.value, Items(tuple(pairs.values()), tuple(pairs)))
    elif isinstance(base, Items):
        machine.rebind(target.value, UNKNOWN)


def _unpack(machine: Machine, targets: list[ast.expr], value: Known) -> None:
    if isinstance(value, Items) and len(value.values) == len(targets):
        for target, item in zip(targets, value.values, strict=True):
            machine.assign(target, item)
        return
    for place, target in enumerate(targets):
        part = value
        if isinstance(value, Items):
            part = PLAIN if is_plain(value) else UNKNOWN
        elif isinstance(value, Thing):
            part = value
            if not value.plain:
                part = replace(value, key="", leaf=False, among=value.sure)
            if value.built == LABELLED and not place:
                part = replace(part, weight=MEAN)
            if says(ast.unparse(target), COUNTS):
                part = replace(part, reach=NO_KEYS, maybe=part.maybe | part.reach)
        elif isinstance(value, Count):
            part = PLAIN
        machine.assign(target, part)


def rebind(machine: Machine, target: ast.expr, value: Known) -> None:
    """Changes what a name stands for, without a new value being assigned."""
    note_holder(machine, value, ast.unparse(target), machine.context.scope)
    match target:
        case ast.Name(id=name):
            machine.set(where(machine, name), value)
        case ast.Attribute(value=base, attr=name):
            owner = machine.eval(base)
            if isinstance(owner, Thing) and owner.key:
                machine.set(f"{owner.key}.{name}", value)
