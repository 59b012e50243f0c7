"""Conditional expressions: they split paths as `if` does."""

from __future__ import annotations

from gradledger.static.domain.join import join
from gradledger.static.domain.values import Constant, Flag, Known
from gradledger.static.lower.branches import chosen, note_frozen
from gradledger.static.lower.conditions import condition
from gradledger.static.lower.quiet_values import impure
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def eval_conditional(machine: Machine, node: ast.IfExp) -> Known:
    """`a if asked else b`: one of two values, and only what it takes to have that one is done."""
    asked = condition(machine, node.test)
    if isinstance(asked, bool):
        return machine.eval(node.body if asked else node.orelse)
    values: list[Known] = []
    if impure(machine, node.body) or impure(machine, node.orelse):
        then, orelse, frozen = machine.both(
            lambda: values.append(machine.eval(node.body)),
            lambda: values.append(machine.eval(node.orelse)),
        )
        note_frozen(machine, asked, frozen)
        machine.out.append(chosen(asked, then, orelse))
    else:
        values = [machine.eval(node.body), machine.eval(node.orelse)]
    one, other = values
    if isinstance(one, Flag) and isinstance(other, Constant) and _is_more_than_one(node.test):
        return one  # windows of one micro-batch: what is asked has the same answer there
    return join(one, other)


def _is_more_than_one(test: ast.expr) -> bool:
    """`window > 1`."""
    match test:
        case ast.Compare(ops=[ast.Gt() | ast.NotEq()], comparators=[ast.Constant(value=1)]):
            return True
    return False
