"""Assignments: `=`, `+=`, `del`."""

from __future__ import annotations

from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    NONE,
    PLAIN,
    UNKNOWN,
    Constant,
    Count,
    FunctionDef,
    Gradients,
    Items,
    Known,
    Parameters,
    Thing,
    is_plain,
    kept_in,
)
from gradledger.static.domain.weights import operator_of
from gradledger.static.ir.effects import Edits, Reads, Renews
from gradledger.static.lower.arithmetic import combined, used
from gradledger.static.lower.attributes import named_by
from gradledger.static.lower.expressions import cut, release, source_of
from gradledger.static.lower.manual_updates import (
    edit_gradient,
    is_update_by_hand,
    set_gradient,
    set_requires_grad,
    write_into,
)
from gradledger.static.lower.names import (
    full_name,
    key_of,
    where,
)
from gradledger.static.lower.output_parts import may_be_a_number
from gradledger.static.lower.quiet_values import eval_quietly
from gradledger.static.lower.return_values import handed_on
from gradledger.static.lower.scope_names import file_uses
from gradledger.static.lower.spelling import called_name
from gradledger.static.lower.summed_losses import growing, hold, summed
from gradledger.static.lower.unknown_calls import arguments_of, freeze
from gradledger.static.lower.windows import is_remainder
from gradledger.static.models import facts, graphless
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

_NAMED = {ast.Name, ast.Attribute, ast.Subscript}
"""What a state is called by."""


def run_assign(machine: Machine, node: ast.Assign) -> None:
    """`a = b = value`."""
    match node.targets:
        case [ast.Tuple(elts=names) | ast.List(elts=names)]:
            unpacked: tuple[ast.expr | None, int] = node.value, len(names)
        case _:
            unpacked = None, 0
    handed_on = _hands_on(machine, node)
    if unpacked == machine.context.unpacked:  # mostly, nothing is unpacked, here and around
        value = machine.eval(node.value)
    else:
        with machine.within(unpacked=unpacked):
            value = machine.eval(node.value)
    if handed_on is not None:
        value = _with_graph(machine, value, handed_on)
    if len(node.targets) == 1 and machine.context.loops:
        value = growing(machine, node.targets[0], node.value, value)
    for target in node.targets:
        _assign_statement(machine, target, value, node)
        if isinstance(target, ast.Name):
            _note_name(machine, target.id, value, node.value)
        elif isinstance(target, ast.Subscript) and is_plain(value):
            _cut_item(machine, target, node.value)


def _hands_on(machine: Machine, node: ast.Assign) -> ast.Call | None:
    """`state = step(net, state)`, of what the round before has left: the call."""
    if not machine.context.loops or not isinstance(node.value, ast.Call) or len(node.targets) > 1:
        return None
    target = node.targets[0]
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    kinds = set(map(type, parts)) & _NAMED
    given = {source_of(machine, each) for each in node.value.args if type(each) in kinds}
    for part in parts:
        if given and type(part) in kinds and source_of(machine, part) in given:
            key = key_of(machine, part)
            if key and key not in machine.context.loops[-1].assigned:
                return node.value
    return None


def _with_graph(machine: Machine, made: Known, call: ast.Call) -> Known:
    """What a function of the project made of a state, with its graph if that is in sight."""
    function = eval_quietly(machine, call.func)
    if not isinstance(function, FunctionDef):
        return made
    arguments = arguments_of(machine, call)
    return handed_on(machine, function, made, lambda: machine.follow(function, arguments, call))


def _note_name(machine: Machine, name: str, value: Known, node: ast.expr) -> None:
    """What a name tells from now on: a rest, a flag, a loss of which nobody knows the graph."""
    full = full_name(machine, name)
    if is_remainder(node):
        machine.log.remainders.add(full)
    if machine.context.loops and isinstance(value, Constant) and isinstance(value.value, bool):
        machine.log.flags[full] = len(machine.context.loops)
    now = machine.flow.store.get(full)
    if isinstance(now, Thing) and _is_made_of(name, node):
        machine.set(full, replace(now, sure=isinstance(value, Thing) and value.sure))


def _cut_item(machine: Machine, target: ast.Subscript, value: ast.expr) -> None:
    """`state[key] = state[key].detach()`: in a loop, each in its turn."""
    each = machine.context.loops and not isinstance(machine.eval(target.slice), Constant)
    if each and "detach" in ast.unparse(value):
        cut(machine, target)


def run_ann_assign(machine: Machine, node: ast.AnnAssign) -> None:
    """`a: int = value`."""
    if node.value is not None:
        _assign_statement(machine, node.target, machine.eval(node.value), node)


def _assign_statement(machine: Machine, target: ast.expr, value: Known, node: ast.stmt) -> None:
    if isinstance(target, ast.Attribute) and target.attr in facts.GRADIENT:
        set_gradient(machine, target, value, node)
        return
    match target:
        case ast.Attribute(attr="data", value=ast.Attribute(attr="grad" | "_grad") as gradient):
            set_gradient(machine, gradient, value, node)
            return
        case ast.Subscript(value=whole) if isinstance(held := machine.eval(whole), Gradients):
            write_into(machine, held, target, value, node)
            return
    if isinstance(target, ast.Tuple):
        for part in target.elts:
            if isinstance(part, ast.Attribute) and part.attr in facts.GRADIENT:
                set_gradient(machine, part, UNKNOWN, node)
    if isinstance(value, Gradients):
        machine.emit(Reads(machine.at(node), *named_by(value.of)))
    if is_update_by_hand(machine, target, node):
        return
    if isinstance(target, ast.Attribute) and target.attr == "requires_grad":
        owner = machine.eval(target.value)
        if isinstance(owner, Parameters):
            freeze(machine, owner.keys, value)
        elif isinstance(owner, Thing) and owner.key:
            set_requires_grad(machine, owner, target.value, value)
        return
    if isinstance(target, ast.Attribute) and target.attr == "require_backward_grad_sync":
        _hold_back(machine, node)
    if isinstance(value, Thing) and _finds_places(target, node):
        value = Items((value, PLAIN))
    machine.assign(target, value)
    if machine.context.loops and isinstance(value, Thing):
        _renew_optimizers(machine, target)


def _hold_back(machine: Machine, node: ast.stmt) -> None:
    """A net is told when its ranks average. Where that is never, no forward from here does."""
    from gradledger.static.lower.no_sync import never_averages

    around = machine.context.scope.node or machine.context.scope.module.tree
    if isinstance(node, ast.Assign) and never_averages(around, node):
        machine.flow = replace(machine.flow, held_back=True)


def call_setattr(machine: Machine, node: ast.Call) -> Known | None:
    """`setattr(parameter, "grad", value)`: the same as to assign it."""
    return _set_by_name(machine, node, node.args[2]) if len(node.args) == 3 else None


def call_delattr(machine: Machine, node: ast.Call) -> Known | None:
    """`delattr(parameter, "grad")`: the same as to assign None."""
    if len(node.args) != 2:
        return None
    return _set_by_name(machine, node, ast.copy_location(ast.Constant(None), node))


def _set_by_name(machine: Machine, node: ast.Call, value: ast.expr) -> Known:
    """`setattr(parameter, "grad", value)`: the same as to assign it."""
    owner, name = node.args[:2]
    given = machine.eval(value)
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        target = ast.Attribute(owner, name.value, ast.Store())
        ast.copy_location(target, node)
        statement = ast.copy_location(ast.Assign([target], value), node)
        _assign_statement(machine, target, given, statement)
    return PLAIN


def _renew_optimizers(machine: Machine, target: ast.expr) -> None:
    """One that is made out of sight, or several: others in each round."""
    shown = ast.unparse(target)
    if file_uses(machine).role(shown) == "optimizer":
        for name in (shown, f"{shown}[*]"):
            machine.emit(Renews(machine.at(target), optimizer=name))


def run_aug_assign(machine: Machine, node: ast.AugAssign) -> None:
    """`a += b`."""
    if isinstance(node.target, ast.Attribute) and node.target.attr in facts.GRADIENT:
        edit_gradient(machine, node)
        return
    if is_update_by_hand(machine, node.target, node):
        return
    before, value = machine.eval(node.target), used(machine, node.value)
    if _changes_data(machine, node.target):
        return
    if isinstance(before, Gradients):
        machine.emit(Edits(machine.at(node), *named_by(before.of), "change"))
        return
    if isinstance(before, Thing) and before.leaf and not machine.context.grad_enabled:
        return  # changed in place: still the tensor that has the gradient
    operator = operator_of(node)
    if isinstance(before, Count) and isinstance(value, Constant):
        step = value.value if isinstance(value.value, int) and operator == "+" else None
        if isinstance(node.op, ast.Sub):
            step = None
        after: Known = Count("") if step is None else Count(before.loop, before.plus + step)
        machine.assign(node.target, after if before.loop else Count(""))
        return
    if isinstance(before, Items) and isinstance(value, Items):
        machine.rebind(node.target, Items((*before.values, *value.values)[:8]))
        return
    if isinstance(before, Parameters) and isinstance(value, Parameters):
        machine.rebind(node.target, Parameters(before.keys | value.keys))
        return
    if isinstance(before, Constant) and isinstance(value, Constant):
        machine.assign(node.target, PLAIN)
        return
    made = combined(machine, before, value, operator, node)
    shown = isinstance(value, Thing) and (value.among or may_be_a_number(machine, node.value))
    if isinstance(value, Thing) and operator == "+" and not shown:
        made = summed(machine, made, value, node.target, node)
    machine.assign(node.target, made)
    if isinstance(node.target, ast.Subscript) and isinstance(made, Thing) and made.kept:
        hold(machine, node.target, made)


def _changes_data(machine: Machine, target: ast.expr) -> bool:
    """`w.data -= change`, of a tensor: its values change in place, and no graph is recorded."""
    if not isinstance(target, ast.Attribute) or target.attr != "data":
        return False
    owner = machine.eval(target.value)
    return isinstance(owner, Parameters) or (isinstance(owner, Thing) and owner.cls is None)


def run_delete(machine: Machine, node: ast.Delete) -> None:
    """`del p.grad` clears; `del losses[:]` lets go."""
    for target in node.targets:
        if isinstance(target, ast.Attribute) and target.attr in facts.GRADIENT:
            set_gradient(machine, target, NONE, node)
        elif isinstance(target, ast.Subscript):
            base = machine.eval(target.value)
            release(machine, kept_in(base), node)
            if isinstance(base, Items):
                machine.rebind(target.value, Items(()))
        elif isinstance(target, ast.Name):
            value = machine.unset(where(machine, target.id))
            if value is not None:
                release(machine, kept_in(value), node)


def _is_made_of(name: str, value: ast.expr) -> bool:
    """`f(name)`?"""
    return isinstance(value, ast.Call) and any(
        isinstance(argument, ast.Name) and argument.id == name for argument in value.args
    )


def _finds_places(target: ast.expr, node: ast.stmt) -> bool:
    """`value, index = scores.max(1)`: where the largest one stands has no graph."""
    match target, node:
        case ast.Tuple(elts=[_, _]), ast.Assign(value=ast.Call() as call):
            return called_name(call) in graphless.WITH_INDICES
    return False
