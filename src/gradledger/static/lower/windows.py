"""Conditions that tell where in a window, or in a loop, this is."""

from __future__ import annotations

from gradledger.static.domain.values import (
    LENGTH,
    Constant,
    Count,
    Known,
)
from gradledger.static.ir import condition_names
from gradledger.static.lower.condition_keys import UNNAMED, Ask, Condition
from gradledger.static.lower.loop_ends import is_length, loop_of
from gradledger.static.lower.names import full_name, lookup
from gradledger.static.lower.quiet_values import operand_text
from gradledger.static.lower.spelling import last_name
from gradledger.static.lower.windows_of_one import ONE, settings_of
from gradledger.static.project.module import Import, Module
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern, literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


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
    if size == ONE or _is_set_to_one(machine, left.right):
        never = isinstance(right, Constant) and right.value != 0
        return positive is not never
    if not isinstance(counter, Count):
        if isinstance(left.left, ast.Call):
            return UNNAMED  # `len(loader) % n`: no counter
        if isinstance(counter, Constant) and isinstance(size, Constant):
            return None
        counter = Count("")
    loop = loop_of(machine, counter)
    if loop is None:
        return None
    size_text = operand_text(machine, size, left.right)
    if isinstance(size, Count) or size == LENGTH:  # one that is all of the data is always full
        machine.log.varying.add(condition_names.size_of(size_text))
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
    loop = loop_of(machine, counter)
    start = loop.set_back.get(full_name(machine, name.id)) if loop else None
    if loop is None or start is None or not isinstance(op, ast.Eq | ast.GtE | ast.NotEq):
        return None
    number = size.value if isinstance(size, Constant) else None
    first = number == start and counter.plus == start
    if not first and (counter.plus != start + 1 or number in (start, start + 1)):
        return None
    if not first and is_whole(machine, operand_text(machine, size, spelled)):
        machine.log.varying.add(name.id)
    group = condition_names.own_window(counter.loop, name.id)
    starts, ends = condition_names.starts(group), condition_names.ends(group)
    loop.windows[group] = starts, ends, number - start if isinstance(number, int) else 0
    return Ask(starts if first else ends, positive is not isinstance(op, ast.NotEq))


def is_whole(machine: Machine, window: str) -> bool:
    """Does the file make sure that its data fills windows of this size?"""
    module = machine.context.scope.module
    known = machine.known.dividing.get(id(module))
    if known is None:
        from gradledger.static.lower.window_sizes import dividing

        known = machine.known.dividing[id(module)] = dividing(module.tree)
    size = condition_names.size_of(window)
    return size in known | machine.log.varying or any(
        isinstance(value := lookup(machine, name), Constant) and repr(value.value) == size
        for name in known
    )


def _is_two(machine: Machine, size: Known, spelled: ast.expr) -> bool:
    """Is it 2, or an option that is 2 by default?"""
    if isinstance(size, Constant):
        return size == Constant.of(2)
    from gradledger.static.lower.option_defaults import defaults_of

    name = last_name(spelled)
    said = [v for _, v in defaults_of(name, machine.context.scope.module)] if name else []
    return bool(said) and all(value == 2 for value in said)


def _is_set_to_one(machine: Machine, size: ast.expr) -> bool:
    """`cfg.window`, where all that the settings beside the file say of it is 1.

    What the file itself sets to 1 is an option: who raises it has the file open.
    """
    module = machine.context.scope.module
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
    is_set = name in module.source and module.says_in_text(rf"\b{name}[\"']?\s*[:=]")
    if is_set and (said := settings_of(module).get(name)):
        # What is set on an object of settings is an exception from what that says.
        return said == {1} and module.says_in_text(rf"\.{name}\s*=\s*1\b")
    beside = map(settings_of, machine.project.settings_beside(module, name))
    return set().union(*(known.get(name, ()) for known in beside)) == {1}


def _sets_to_one(machine: Machine, module: Module, origin: Import, name: str) -> bool:
    """Is this 1 in the file that something is imported from?"""
    there = machine.project.settings_in(module, origin, name) if name else ()
    return any(known.get(name) == {1} for known in map(settings_of, there))


def _asks_for_next(machine: Machine, counter: ast.expr) -> bool:
    """Is there a `(counter + 1) % n` besides?"""
    around = machine.context.scope.node or machine.context.scope.module.tree
    following = Pattern(literal(ast.unparse(counter)) + r"\s*\+\s*1\s*\)\s*%")
    return following.search(machine.context.scope.module.text(around)) is not None


def _remainder(machine: Machine, right: Known, size: Known) -> int:
    """`== 0` is 0, and `== n - 1` is -1: one before the next window."""
    if isinstance(right, Constant) and isinstance(right.value, int):
        if isinstance(size, Constant) and isinstance(size.value, int):
            remainder = right.value % size.value if size.value else 0
            return remainder - size.value if remainder == size.value - 1 else remainder
        return right.value
    return -1


def is_remainder(node: ast.expr) -> bool:
    """`len(loader) % n`: what is left over of an epoch."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and is_length(node.left)


def _next_of(counter: ast.expr) -> tuple[ast.expr, bool]:
    """`i`, and whether it was `i + 1`."""
    match counter:
        case ast.BinOp(left=before, op=ast.Add(), right=ast.Constant(value=1)):
            return before, True
    return counter, False
