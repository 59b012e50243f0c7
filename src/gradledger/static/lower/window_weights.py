"""Whether a loss was divided by the number of micro-batches in a window.

A divisor is the window by its value: it is what the framework was told, under whatever name.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.events import Weight
from gradledger.static.domain.values import Constant, Known, Thing
from gradledger.static.domain.weights import divided
from gradledger.static.project.module import Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.vocabulary import WINDOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

OPTIONS = frozenset({"gradient_accumulation_steps", "accumulate_grad_batches"})
"""What frameworks call the size of their windows."""


def divide(
    machine: Machine, weight: Weight, by: Known, spelled: ast.expr | None, node: ast.AST
) -> Weight:
    """The weight of a loss that is divided here; by what is kept, for it may be the window."""
    at = machine.at(node)
    terms = _terms_of(node)
    if isinstance(spelled, ast.Constant) and terms > 1 and spelled.value == terms:
        return weight  # three losses that are divided by 3 are a mean
    if spelled is None:
        return divided(weight, by, "?", at)
    before = machine.log.divisors.get(at, ())
    if (by, spelled, node) not in before:
        machine.log.divisors[at] = (*before, (by, spelled, node))
    return divided(weight, by, ast.unparse(spelled), at)


def by_window(machine: Machine, weight: Weight) -> bool:
    """Is it divided by the number of micro-batches in a window?"""
    if isinstance(weight.divisor, str) and WINDOW.search(weight.divisor):
        return True
    if weight.divisor in (None, 1) or weight.divided_at is None:
        return False
    module = machine.context.scope.module
    if weight.divided_at.path != module.path:
        return False
    if WINDOW.search(module.lines[weight.divided_at.line - 1]):
        return True
    return any(
        _is_window(machine, *divisor) for divisor in machine.log.divisors.get(weight.divided_at, ())
    )


def _is_window(machine: Machine, value: Known, spelled: ast.expr, node: ast.AST) -> bool:
    """Is it what a framework was told, in this walk or elsewhere in the file?"""
    if isinstance(spelled, ast.Constant):
        # A half is mostly half a loss; and three losses that are divided by 3 are a mean.
        sizes = [*machine.log.windows, *map(_number, _told_in(machine))]
        return value in sizes and spelled.value != 2 and _terms_of(node) != spelled.value
    if isinstance(value, Thing) and value.key and value in machine.log.windows:
        return True
    told = value in machine.log.windows
    return any(_are_one(machine, spelled, other, told=told) for other in _told_in(machine))


def _are_one(machine: Machine, one: ast.expr, other: ast.expr, *, told: bool) -> bool:
    """Are they the same name of a value that was told, or the same option of the settings?"""
    match one, other:
        case ast.Name(id=name), ast.Name(id=same):
            return name == same and (told or name in machine.context.scope.module.definitions)
        case ast.Attribute(attr=name), ast.Attribute(attr=same):
            return name == same
    return False


def _told_in(machine: Machine) -> tuple[ast.expr, ...]:
    """How the file spells what it tells frameworks of their windows."""
    module = machine.context.scope.module
    known = machine.known.told_windows.get(id(module))
    if known is None:
        known = machine.known.told_windows[id(module)] = tuple(_told(module))
    return known


def _told(module: Module) -> Iterator[ast.expr]:
    if any(option in module.source for option in OPTIONS):
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call):
                yield from (k.value for k in node.keywords if k.arg in OPTIONS)


def _number(node: ast.expr) -> Known:
    return Constant.of(node.value) if isinstance(node, ast.Constant) else Thing()


def _terms_of(node: ast.AST) -> int:
    """Of how many losses something is the sum that is divided."""
    match node:
        case ast.BinOp(left=left, op=ast.Div()):
            return _terms_of(left)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _terms_of(left) + _terms_of(right)
    return 1
