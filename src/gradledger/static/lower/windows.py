"""Conditions that tell where in a window, or in a loop, this is."""

from __future__ import annotations

from functools import partial

from gradledger.static.domain.scopes import LoopState
from gradledger.static.domain.values import (
    LAST_INDEX,
    LENGTH,
    Constant,
    Count,
    External,
    Known,
    Thing,
)
from gradledger.static.ir import condition_names
from gradledger.static.lower.condition_keys import UNNAMED, Ask, Both, Condition, negated
from gradledger.static.lower.expressions import source_of
from gradledger.static.lower.names import full_name, lookup
from gradledger.static.lower.spelling import last_name
from gradledger.static.project.module import Import, Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern, literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

ONE = Constant.of(1)


def window_condition(
    machine: Machine, left: ast.BinOp, op: ast.cmpop, right: Known, positive: bool
) -> Condition | None:
    """`(i + 1) % n == 0`: the last micro-batch of a window, or the first."""
    counter, size = machine.eval(left.left), machine.eval(left.right)
    of_two = isinstance(op, ast.NotEq) and right == Constant.of(0)
    of_two = of_two and _is_two(machine, size, left.right)
    if of_two:  # `if i % 2`: of every two, the one that is not the first
        op, right = ast.Eq(), ONE
    if isinstance(op, ast.NotEq):
        positive = not positive
    elif not isinstance(op, ast.Eq):
        return None
    if size == Constant.of(1) or _is_set_to_one(machine, left.right):
        never = isinstance(right, Constant) and right.value != 0
        return positive is not never
    if not isinstance(counter, Count):
        if isinstance(left.left, ast.Call):
            return UNNAMED  # `len(loader) % n`: no counter
        if isinstance(counter, Constant) and isinstance(size, Constant):
            return None
        counter = Count("")
    loop = _loop_of(machine, counter)
    if loop is None:
        return None
    size_text = operand_text(machine, size, left.right)
    if isinstance(size, Count) or size == LENGTH:  # one that is all of the data is always full
        machine.varying.add(condition_names.size_of(size_text))
    known = 0
    if isinstance(size, Constant) and isinstance(size.value, int):
        known = size.value
    if not counter.loop:
        node, is_next = _next_of(left.left)
        group = condition_names.running_window(operand_text(machine, counter, node), size_text)
        starts, ends = condition_names.starts(group), condition_names.ends(group)
        loop.windows[group] = starts, ends, known
        # Who asks for the next number, too, asks here for the first micro-batch; and so does
        # who asks for the 1 behind each 0.
        asks_for_first = not is_next and (right == ONE or _asks_for_next(machine, node))
        return Ask(starts if asks_for_first else ends, positive)
    group = condition_names.own_window(counter.loop, size_text)
    starts, ends = condition_names.starts(group), condition_names.ends(group)
    loop.windows[group] = starts, ends, known
    place = counter.plus - _remainder(machine, right, Constant.of(2) if of_two else size)
    if place == 0:
        return Ask(starts, positive)
    if place == 1:
        return Ask(ends, positive)
    return Ask(f"{group} + {place}", positive) if place > 1 else UNNAMED


def window_set_back(
    machine: Machine,
    counter: Count,
    name: ast.Name,
    op: ast.cmpop,
    size: Known,
    spelled: ast.expr,
    positive: bool,
) -> Condition | None:
    """`pending == n`, of a counter that is then set to 0 again; and `pending == 0`."""
    loop = _loop_of(machine, counter)
    start = loop.set_back.get(full_name(machine, name.id)) if loop else None
    if loop is None or start is None or not isinstance(op, ast.Eq | ast.GtE | ast.NotEq):
        return None
    number = size.value if isinstance(size, Constant) else None
    first = number == start and counter.plus == start
    if not first and (counter.plus != start + 1 or number in (start, start + 1)):
        return None
    if not first and is_whole(machine, operand_text(machine, size, spelled)):
        machine.varying.add(name.id)
    group = condition_names.own_window(counter.loop, name.id)
    starts, ends = condition_names.starts(group), condition_names.ends(group)
    loop.windows[group] = starts, ends, number - start if isinstance(number, int) else 0
    return Ask(starts if first else ends, positive is not isinstance(op, ast.NotEq))


def is_whole(machine: Machine, window: str) -> bool:
    """Does the file make sure that its data fills windows of this size?"""
    module = machine.scope.module
    known = machine.known.dividing.get(id(module))
    if known is None:
        from gradledger.static.lower.window_sizes import dividing

        known = machine.known.dividing[id(module)] = dividing(module.tree)
    size = condition_names.size_of(window)
    return size in known | machine.varying or any(
        isinstance(value := lookup(machine, name), Constant) and repr(value.value) == size
        for name in known
    )


def _is_two(machine: Machine, size: Known, spelled: ast.expr) -> bool:
    """Is it 2, or an option that is 2 by default?"""
    if isinstance(size, Constant):
        return size == Constant.of(2)
    from gradledger.static.lower.option_defaults import defaults_of

    name = last_name(spelled)
    said = [v for _, v in defaults_of(name, machine.scope.module)] if name else []
    return bool(said) and all(value == 2 for value in said)


def _is_set_to_one(machine: Machine, size: ast.expr) -> bool:
    """`cfg.window`, where all that this file, or the settings beside it, say of it is 1."""
    module = machine.scope.module
    match size:
        case ast.Name(id=name):
            origin = module.definitions.get(name)
            return isinstance(origin, Import) and _sets_to_one(machine, module, origin, origin.name)
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if isinstance(
            origin := module.definitions.get(owner), Import
        ):
            if _sets_to_one(machine, module, origin.inside, name):
                return True
        case ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            pass
        case _:
            return False
    is_set = Pattern(rf"\b{name}[\"']?\s*[:=]").search(module.source)
    said = _settings(machine, module).get(name, set()) if is_set else set()
    if not said:
        beside = map(partial(_settings, machine), machine.project.settings_beside(module, name))
        said = set().union(*(known.get(name, ()) for known in beside))
    return said == {1}


def _sets_to_one(machine: Machine, module: Module, origin: Import, name: str) -> bool:
    """Is this 1 in the file that something is imported from?"""
    there = machine.project.settings_in(module, origin, name) if name else ()
    return any(known.get(name) == {1} for known in map(partial(_settings, machine), there))


def _settings(machine: Machine, module: Module) -> dict[str, set[object]]:
    known = machine.known.settings.get(id(module))
    if known is None:
        from gradledger.static.lower.window_sizes import settings

        known = machine.known.settings[id(module)] = settings(module.tree)
    return known


def _asks_for_next(machine: Machine, counter: ast.expr) -> bool:
    """Is there a `(counter + 1) % n` besides?"""
    around = machine.scope.node or machine.scope.module.tree
    following = Pattern(literal(ast.unparse(counter)) + r"\s*\+\s*1\s*\)\s*%")
    return following.search(machine.scope.module.text(around)) is not None


def _remainder(machine: Machine, right: Known, size: Known) -> int:
    """`== 0` is 0, and `== n - 1` is -1: one before the next window."""
    if isinstance(right, Constant) and isinstance(right.value, int):
        if isinstance(size, Constant) and isinstance(size.value, int):
            remainder = right.value % size.value if size.value else 0
            return remainder - size.value if remainder == size.value - 1 else remainder
        return right.value
    return -1


def _loop_of(machine: Machine, counter: Count) -> LoopState | None:
    for loop in reversed(machine.loops):
        if not counter.loop or loop.id == counter.loop:
            return loop
    return None


def first_round(
    machine: Machine, counter: Count, op: ast.cmpop, bound: Constant, positive: bool
) -> Condition | None:
    """`i == 0`, `epoch > 0`, `epoch >= 200`: true or false in a loop's first round."""
    loop = _loop_of(machine, counter)
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
    loop = _loop_of(machine, counter)
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
    named = _is_length(length) or source_of(machine, length) == loop.length
    smaller = isinstance(op, ast.Lt) if counter is a else isinstance(op, ast.Gt)
    if not offset and isinstance(length, ast.Call) and _is_length(length):
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
            return attribute_path(machine, node) or f"{machine.scope.id}{source_of(machine, node)}"


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


def _is_length(node: ast.expr) -> bool:
    """`len(loader)`, or a name for it."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    lowered = last_name(node).lower()
    return any(word in lowered for word in ("len", "num", "total", "batches", "n_", "size", "last"))


def is_remainder(node: ast.expr) -> bool:
    """`len(loader) % n`: what is left over of an epoch."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and _is_length(node.left)


def _next_of(counter: ast.expr) -> tuple[ast.expr, bool]:
    """`i`, and whether it was `i + 1`."""
    match counter:
        case ast.BinOp(left=before, op=ast.Add(), right=ast.Constant(value=1)):
            return before, True
    return counter, False
