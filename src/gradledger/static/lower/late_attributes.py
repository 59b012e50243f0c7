"""What an object gets after it was made: what `__init__` leaves None, and another method sets."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.static.domain.values import NONE, ClassDef
from gradledger.static.lower.attributes import lineage, method_of
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

OWN_CALLS = Pattern(r"self\.(\w+)\(")


def set_by_others(machine: Machine, cls: ClassDef, method: str) -> Iterator[str]:
    """The attributes that are None so far, and that may be set by the time the method is called.

    What the method sets itself, or by what it calls, is None until then.
    """
    found = (key.partition(".") for key, value in machine.flow.store.items() if value == NONE)
    unset = {name for owner, _, name in found if owner == "self"}
    if not unset:
        return
    inside = _called(machine, cls, method) | {"__init__"}
    for owner in lineage(machine, cls):
        for name, function in owner.module.methods(owner.node).items():
            if name in inside:
                continue
            text = owner.module.text(function)
            if any(f"self.{each}" in text for each in unset):
                given = unset & _known_set_in(machine, function)
                unset -= given
                yield from sorted(given)


def _called(machine: Machine, cls: ClassDef, method: str) -> set[str]:
    """The methods of the object that a method calls, itself or by others; and itself."""
    called, left = set[str](), [method]
    while left:
        name = left.pop()
        function = method_of(machine, cls, name)
        if function is not None and name not in called:
            called.add(name)
            left += OWN_CALLS.findall(function.module.text(function.node))
    return called


def _known_set_in(machine: Machine, function: ast.AST) -> frozenset[str]:
    known = machine.known.set_in.get(id(function))
    if known is None:
        known = machine.known.set_in[id(function)] = frozenset(_set_in(function))
    return known


def _set_in(function: ast.AST) -> Iterator[str]:
    """The names on `self` that a function gives something else than None to."""
    for statement in ast.walk(function):
        match statement:
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                if not _is_none(value):
                    yield from _stored(statement)


def _stored(statement: ast.AST) -> Iterator[str]:
    for inner in ast.walk(statement):
        match inner:
            case ast.Attribute(ast.Name("self"), name, ast.Store()):
                yield name


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None
