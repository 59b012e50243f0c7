"""Whether one of several things that a call gives may be a number, and no tensor."""

from __future__ import annotations

from functools import partial

from gradledger.static.domain.values import Thing, is_plain
from gradledger.static.lower.attributes import LABELLED
from gradledger.static.lower.names import lookup, names_walked_back
from gradledger.static.lower.quiet_values import eval_quietly
from gradledger.static.lower.spelling import called_name
from gradledger.static.models import facts
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern, literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def may_be_a_number(machine: Machine, value: ast.expr) -> bool:
    """`loss, accuracy = model(batch)`: of several outputs, only a loss surely has a graph."""
    match value:
        case ast.BinOp(left=left, right=right):
            # Times a number of items, a number stays one.
            sides = [side for side in (left, right) if not _is_number(machine, side)]
            return bool(sides) and all(map(partial(may_be_a_number, machine), sides))
        case ast.Subscript(value=outputs, slice=ast.Constant(value=str(name))):
            if "loss" not in name.lower() or _needs_no_item(machine, outputs, name):
                return True
            # Next to the loss itself, its parts are there to be shown.
            return isinstance(outputs, ast.Name) and _comes_with_others(machine, outputs.id)
        case ast.Attribute(value=ast.Name(id=whole), attr=name):
            return name not in names_walked_back(machine) and _is_an_output(machine, whole, name)
        case ast.Name(id=name) | ast.Subscript(ast.Name(id=name), ast.Constant(value=int())):
            pass
        case _:
            return False
    if "loss" in name.lower() or name in names_walked_back(machine):
        return False
    known = lookup(machine, name)
    return isinstance(known, Thing) and known.among


def _is_an_output(machine: Machine, whole: str, name: str) -> bool:
    """Is it a part, which nobody here has made, of what a model gave?"""
    output = lookup(machine, whole)
    if not isinstance(output, Thing) or not output.sure or output.built == LABELLED:
        return False
    return f"{output.key}.{name}" not in machine.flow.store


def _comes_with_others(machine: Machine, name: str) -> bool:
    """`loss, parts = criterion(out, y)`: is it one of several things that a call gives?"""
    return any(
        isinstance(inner, ast.Name) and inner.id == name
        for assigned in ast.walk(machine.context.scope.node or machine.context.scope.module.tree)
        if isinstance(assigned, ast.Assign) and isinstance(assigned.value, ast.Call)
        for target in assigned.targets
        if isinstance(target, ast.Tuple)
        for inner in target.elts
    )


def _needs_no_item(machine: Machine, outputs: ast.expr, key: str) -> bool:
    """Does `outputs[…].item()` stand here of other keys, and of this one nothing like it?"""
    text = machine.context.scope.module.text(
        machine.context.scope.node or machine.context.scope.module.tree
    )
    calls = Pattern(literal(ast.unparse(outputs)) + r"\[['\"](\w+)['\"]\]\.(\w+)")
    called = dict(calls.findall(text))
    return "item" in called.values() and key not in called


def _is_number(machine: Machine, value: ast.expr) -> bool:
    """`3`, `n`, `x.size(0)`, `len(y)`?"""
    if isinstance(value, ast.Call):
        return called_name(value) in facts.COUNTING
    return isinstance(value, ast.Constant) or is_plain(eval_quietly(machine, value))
