"""The first and the last round of a loop, as conditions."""

from __future__ import annotations

from gradledger.static.domain.scopes import LoopState
from gradledger.static.domain.values import LAST_INDEX, LENGTH, Constant, Count, Known
from gradledger.static.ir import condition_names
from gradledger.static.lower.condition_keys import UNNAMED, Ask, Both, Condition, negated
from gradledger.static.lower.expressions import source_of
from gradledger.static.lower.quiet_values import eval_quietly
from gradledger.static.lower.spelling import last_name
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def first_round(
    machine: Machine, counter: Count, op: ast.cmpop, bound: Constant, positive: bool
) -> Condition | None:
    """`i == 0`, `epoch > 0`, `epoch >= 200`: true or false in a loop's first round."""
    loop = loop_of(machine, counter)
    number = bound.value
    if loop is None or not counter.loop or not isinstance(number, int | float):
        return None
    loop.first = first = condition_names.first_round(loop.id)
    start = counter.plus
    match op:
        case ast.Eq() | ast.LtE() if number == start:
            return Ask(first, positive)
        case ast.Lt() if number == start + 1:
            return Ask(first, positive)
        case ast.NotEq() | ast.Gt() if number == start:
            return Ask(first, not positive)
        case ast.GtE() if number == start + 1:
            return Ask(first, not positive)
        case ast.Gt() | ast.GtE() if number > start:
            late: Condition = Both((Ask(first, False), UNNAMED), True)
            return late if positive else negated(late)
    return None


def last_round(
    machine: Machine,
    a: Known,
    left: ast.expr,
    op: ast.cmpop,
    b: Known,
    right: ast.expr,
    positive: bool,
) -> Condition | None:
    """`i + 1 == len(loader)`: true in a loop's last round alone."""
    counter, bound = (a, right) if isinstance(a, Count) else (b, left)
    assert isinstance(counter, Count)
    loop = loop_of(machine, counter)
    if loop is None or not counter.loop or loop.id != counter.loop:
        return None
    length = bound
    offset = counter.plus
    if isinstance(bound, ast.BinOp) and isinstance(bound.op, ast.Sub):
        inner = machine.eval(bound.right)
        if isinstance(inner, Constant) and inner.value == 1:
            length, offset = bound.left, offset + 1
    value = eval_quietly(machine, length)
    if value == LAST_INDEX:
        offset += 1
    named = is_length(length) or source_of(machine, length) == loop.length
    smaller = isinstance(op, ast.Lt) if counter is a else isinstance(op, ast.Gt)
    if not offset and isinstance(length, ast.Call) and is_length(length):
        # Who counts from 0 never gets there.
        never = isinstance(op, ast.Eq)
        return positive is not never if never or smaller or isinstance(op, ast.NotEq) else None
    if offset != 1 or not (named or value in (LENGTH, LAST_INDEX)):
        return None
    if isinstance(op, ast.Eq | ast.GtE | ast.LtE):
        pass
    elif isinstance(op, ast.NotEq) or smaller:
        positive = not positive
    else:
        return None
    loop.last = condition_names.last_round(loop.id)
    return Ask(loop.last, positive)


def is_length(node: ast.expr) -> bool:
    """`len(loader)`, or a name for it."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    lowered = last_name(node).lower()
    return any(word in lowered for word in ("len", "num", "total", "batches", "n_", "size", "last"))


def loop_of(machine: Machine, counter: Count) -> LoopState | None:
    """The loop that a counter counts the rounds of."""
    for loop in reversed(machine.context.loops):
        if not counter.loop or loop.id == counter.loop:
            return loop
    return None
