"""Gradients that are set, and parameters that are updated, by hand."""

from __future__ import annotations

from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    NONE,
    UNKNOWN,
    Constant,
    Gradients,
    Known,
    Parameters,
    Thing,
)
from gradledger.static.domain.weights import operator_of
from gradledger.static.ir.effects import Clears, Edits
from gradledger.static.ir.notes import GradientViews
from gradledger.static.lower.attributes import named_by
from gradledger.static.lower.gradient_calls import note_copied
from gradledger.static.lower.gradient_functions import spend_by_hand
from gradledger.static.lower.noting import note
from gradledger.static.lower.spelling import called_name
from gradledger.static.lower.unknown_calls import freeze, reads_gradient
from gradledger.static.models.facts import GRADIENT
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from gradledger.static.lower.machine import Machine


def set_gradient(machine: Machine, target: ast.Attribute, value: Known, node: ast.stmt) -> None:
    """`p.grad = value`: None clears it, anything else changes it."""
    keys, optimizer, leaf = named_by(_whose(machine, target))
    if machine.context.partly and isinstance(machine.eval(target.value), Parameters):
        machine.emit(Edits(machine.at(node), keys, optimizer, leaf, "change"))
        return
    if value == NONE:
        machine.emit(Clears(machine.at(node), keys, optimizer, leaf))
    elif _is_zeros(node):
        machine.emit(Clears(machine.at(node), keys, optimizer, leaf, to_none=False))
    elif isinstance(node, ast.Assign) and _own_grad(machine, target.value, node):
        machine.emit(Edits(machine.at(node), keys, optimizer, leaf, "change"))
    else:
        whose = _whose(machine, target)
        if isinstance(node, ast.Assign) and reads_gradient(machine, node.value):
            note_copied(machine, whose, [node.value], node)
        note(machine, GradientViews, machine.at(node), whose.keys, whose.of)
        machine.emit(Edits(machine.at(node), keys, optimizer, leaf, "assign"))


def _whose(machine: Machine, gradient: ast.Attribute) -> Parameters:
    """The parameters that a `.grad` belongs to."""
    owner = machine.eval(gradient.value)
    if isinstance(owner, Parameters):
        return owner
    key = owner.key if isinstance(owner, Thing) else ""
    return Parameters(frozenset({key} if key else ()), leaf=True)


def write_into(
    machine: Machine, gradients: Gradients, target: ast.Subscript, value: Known, node: ast.stmt
) -> None:
    """`p.grad[:] = 0` clears; other rows, or other numbers, are a change."""
    keys, optimizer, leaf = named_by(gradients.of)
    whole = isinstance(target.slice, ast.Slice) and target.slice.lower is target.slice.upper
    if whole and not gradients.part and value in (Constant.of(0), Constant.of(0.0)):
        machine.emit(Clears(machine.at(node), keys, optimizer, leaf, to_none=False))
    else:
        machine.emit(Edits(machine.at(node), keys, optimizer, leaf, "change"))


def edit_gradient(machine: Machine, node: ast.AugAssign) -> None:
    """`p.grad += value`, `p.grad /= n`."""
    assert isinstance(node.target, ast.Attribute)
    owner = _whose(machine, node.target)
    value = machine.eval(node.value)
    factor = None
    if isinstance(value, Constant) and isinstance(value.value, int | float) and value.value:
        factor = {"*": value.value, "/": 1 / value.value}.get(operator_of(node))
    scaled = operator_of(node) in ("*", "/")
    kind: Literal["scale", "change"] = "scale" if scaled else "change"
    machine.emit(Edits(machine.at(node), *named_by(owner), kind, factor))


def is_update_by_hand(machine: Machine, target: ast.expr, node: ast.stmt) -> bool:
    """`w -= lr * w.grad`, `w.data = w.data - lr * w.grad`: a step without an optimizer."""
    if not isinstance(node, ast.Assign | ast.AugAssign) or not reads_gradient(machine, node.value):
        return False
    if isinstance(node, ast.Assign) and isinstance(target, ast.Name):
        return False  # a new value for a name, no update of what it stood for
    base = target.value if isinstance(target, ast.Attribute) and target.attr == "data" else (target)
    if isinstance(base, ast.Subscript):
        base = base.value
    owner = machine.eval(base) if isinstance(base, ast.Name | ast.Attribute) else UNKNOWN
    if isinstance(owner, Thing) and owner.key and (owner.leaf or _own_grad(machine, base, node)):
        owner = Parameters(frozenset({owner.key}), leaf=True)
    if not isinstance(owner, Parameters):
        return False
    spend_by_hand(machine, node, owner)
    return True


def _own_grad(machine: Machine, base: ast.expr, node: ast.Assign | ast.AugAssign) -> bool:
    """Does the value hold the `.grad` of what is assigned?"""
    wanted = ast.dump(base).replace("Store()", "Load()")
    return any(
        isinstance(inner, ast.Attribute)
        and inner.attr in GRADIENT
        and ast.dump(inner.value) == wanted
        for inner in ast.walk(node.value)
    )


def set_requires_grad(machine: Machine, owner: Thing, target: ast.expr, value: Known) -> None:
    """`tensor.requires_grad = value`."""
    if value == Constant.of(True):
        machine.rebind(target, replace(owner, plain=False, leaf=True))
    freeze(machine, frozenset({owner.key}), value)


def _is_zeros(node: ast.stmt) -> bool:
    value = getattr(node, "value", None)
    return isinstance(value, ast.Call) and called_name(value) in ("zeros_like", "zeros")
