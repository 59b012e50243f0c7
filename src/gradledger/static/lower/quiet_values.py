"""How operands and paths are spelled, and values that are asked for without effects."""

from __future__ import annotations

from gradledger.static.domain.values import Constant, External, Known, Thing
from gradledger.static.lower.expressions import source_of
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def attribute_path(machine: Machine, node: ast.expr) -> str:
    """`self.amp`, `torch.float16`: the same thing, whichever function asks for it."""
    if not isinstance(node, ast.Attribute) or impure(machine, node):
        return ""
    match machine.eval(node.value):
        case Thing(key=owner) if owner:
            return f"{owner}.{node.attr}"
        case External(dotted):
            return f"{dotted}.{node.attr}"
        case _:
            return ""


def operand_text(machine: Machine, value: Known, node: ast.expr) -> str:
    """How a condition spells one of its operands: a constant by its value, an object by its key."""
    match value:
        case Constant():
            return repr(value.value)
        case Thing(key=key) if key:
            return key
        case _:
            return (
                attribute_path(machine, node)
                or f"{machine.context.scope.id}{source_of(machine, node)}"
            )


def impure(machine: Machine, node: ast.expr) -> bool:
    """Whether there are calls in an expression."""
    known = machine.known.impure.get(id(node))
    if known is None:
        known = any(isinstance(inner, ast.Call) for inner in ast.walk(node))
        machine.known.impure[id(node)] = known
    return known


def eval_quietly(machine: Machine, node: ast.expr) -> Known:
    """The value of names and attributes, which does nothing."""
    if isinstance(node, ast.Name | ast.Attribute):
        return machine.eval(node) if not impure(machine, node) else Thing()
    return Thing()
