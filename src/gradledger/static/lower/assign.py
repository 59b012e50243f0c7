"""Assignments: `=`, `+=`, `del`."""

from __future__ import annotations

from functools import partial

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
from gradledger.static.domain.weights import operator_of, terms_of
from gradledger.static.ir.effects import Edits, Reads, Renews
from gradledger.static.lower.arithmetic import combined, computed, used
from gradledger.static.lower.attributes import named_by
from gradledger.static.lower.expressions import cut, release, source_of
from gradledger.static.lower.gradient_calls import keep_loss
from gradledger.static.lower.manual_updates import (
    edit_gradient,
    is_update_by_hand,
    set_gradient,
    set_requires_grad,
    write_into,
)
from gradledger.static.lower.names import (
    full_name,
    is_of_this_batch,
    key_of,
    lookup,
    names_walked_back,
    where,
)
from gradledger.static.lower.output_parts import may_be_a_number
from gradledger.static.lower.return_values import handed_on
from gradledger.static.lower.spelling import called_name
from gradledger.static.lower.unknown_calls import arguments_of, freeze
from gradledger.static.lower.windows import eval_quietly, is_remainder
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
            machine.unpacked = node.value, len(names)
    handed_on = _hands_on(machine, node)
    value = machine.eval(node.value)
    if handed_on is not None:
        value = _with_graph(machine, value, handed_on)
    if len(node.targets) == 1 and machine.loops:
        value = _growing(machine, node.targets[0], node.value, value)
    for target in node.targets:
        _assign_statement(machine, target, value, node)
        if isinstance(target, ast.Name):
            _note_name(machine, target.id, value, node.value)
        elif isinstance(target, ast.Subscript) and is_plain(value):
            _cut_item(machine, target, node.value)


def _hands_on(machine: Machine, node: ast.Assign) -> ast.Call | None:
    """`state = step(net, state)`, of what the round before has left: the call."""
    if not machine.loops or not isinstance(node.value, ast.Call) or len(node.targets) > 1:
        return None
    target = node.targets[0]
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    kinds = set(map(type, parts)) & _NAMED
    given = {source_of(machine, each) for each in node.value.args if type(each) in kinds}
    for part in parts:
        if given and type(part) in kinds and source_of(machine, part) in given:
            key = key_of(machine, part)
            if key and key not in machine.loops[-1].assigned:
                return node.value
    return None


def _with_graph(machine: Machine, made: Known, call: ast.Call) -> Known:
    """What a function of the project made of a state, with its graph if that is in sight."""
    function = eval_quietly(machine, call.func)
    if not isinstance(function, FunctionDef):
        return made
    arguments = arguments_of(machine, call)
    return handed_on(
        machine, function, made, lambda: machine.follow(function, arguments, call, root=False)
    )


def _note_name(machine: Machine, name: str, value: Known, node: ast.expr) -> None:
    """What a name tells from now on: a rest, a flag, a loss of which nobody knows the graph."""
    full = full_name(machine, name)
    if is_remainder(node):
        machine.remainders.add(full)
    if machine.loops and isinstance(value, Constant) and isinstance(value.value, bool):
        machine.flags[full] = len(machine.loops)
    now = machine.store.get(full)
    if isinstance(now, Thing) and _is_made_of(name, node):
        machine.store[full] = replace(now, sure=isinstance(value, Thing) and value.sure)


def _cut_item(machine: Machine, target: ast.Subscript, value: ast.expr) -> None:
    """`state[key] = state[key].detach()`: in a loop, each in its turn."""
    each = machine.loops and not isinstance(machine.eval(target.slice), Constant)
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
    if machine.loops and isinstance(value, Thing):
        _renew_optimizers(machine, target)


def _hold_back(machine: Machine, node: ast.stmt) -> None:
    """A net is told when its ranks average. Where that is never, no forward from here does."""
    from gradledger.static.lower.no_sync import never_averages

    around = machine.scope.node or machine.scope.module.tree
    if isinstance(node, ast.Assign) and never_averages(around, node):
        machine.local = True


def set_by_name(machine: Machine, node: ast.Call, value: ast.expr) -> Known:
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
    if machine.uses().role(shown) == "optimizer":
        for name in (shown, f"{shown}[*]"):
            machine.emit(Renews(machine.at(target), optimizer=name))


def _growing(machine: Machine, target: ast.expr, node: ast.expr, value: Known) -> Known:
    """`mean = 0.9 * mean + 0.1 * loss`: what is made of itself holds all graphs so far."""
    if isinstance(node, ast.Tuple) and isinstance(value, Items):
        parts = target.elts if isinstance(target, ast.Tuple) else [target] * len(node.elts)
        if len(parts) == len(node.elts) == len(value.values):
            each = map(partial(_growing, machine), parts, node.elts, value.values)
            return replace(value, values=tuple(each))
    elif isinstance(node, ast.IfExp):
        for way in (node.body, node.orelse):
            value = _growing(machine, target, way, value)
    elif isinstance(target, ast.Name) and isinstance(node, ast.BinOp):
        losses = (lookup(machine, name) for name in _added_to(machine, target.id, node))
        for loss in losses:
            if isinstance(loss, Thing) and loss.sure and not loss.plain:
                return _summed(machine, value, loss, target, target)
    return value


def _added_to(machine: Machine, name: str, node: ast.BinOp) -> list[str]:
    """The losses that a sum has in it besides itself, if it has itself in it."""
    terms = list(terms_of(node))
    if name not in terms or name in names_walked_back(machine):
        return []
    return [term for term in terms if term in names_walked_back(machine)]


def run_aug_assign(machine: Machine, node: ast.AugAssign) -> None:
    """`a += b`."""
    if isinstance(node.target, ast.Attribute) and node.target.attr in facts.GRADIENT:
        edit_gradient(machine, node)
        return
    if is_update_by_hand(machine, node.target, node):
        return
    before, value = machine.eval(node.target), used(machine, node.value)
    if isinstance(before, Gradients):
        machine.emit(Edits(machine.at(node), *named_by(before.of), "change"))
        return
    if isinstance(before, Thing) and before.leaf and not machine.grad_enabled:
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
        made = _summed(machine, made, value, node.target, node)
    machine.assign(node.target, made)
    if isinstance(node.target, ast.Subscript) and isinstance(made, Thing) and made.kept:
        _hold(machine, node.target, made)


def _hold(machine: Machine, item: ast.Subscript, value: Thing) -> None:
    """`totals[k] += loss`: what has the item has its graph, and lets go of it as a whole."""
    holder = item.value
    while isinstance(holder, ast.Subscript):
        holder = holder.value
    held, index = machine.eval(holder), machine.eval(item.slice)
    match held, index:
        case Thing(plain=True), _:
            machine.rebind(holder, computed(machine, held, value, sure=False))
        case Thing(), _:
            machine.rebind(holder, replace(held, kept=held.kept | value.kept))
        case Items(names=()), Constant(int(place)) if holder is item.value:
            values = list(held.values)
            if -len(values) <= place < len(values):
                values[place] = value
                machine.rebind(holder, Items(tuple(values)))


def _summed(machine: Machine, made: Known, value: Thing, target: ast.expr, node: ast.AST) -> Known:
    """`total += loss`: the sum holds the graphs of all iterations."""
    if not isinstance(made, Thing) or made.plain:
        return made
    if not machine.loops or not value.sure or value.plain or is_of_this_batch(machine, target):
        return made
    at = keep_loss(machine, value, node)
    return replace(made, kept=made.kept | {at}, sure=True)


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
            value = machine.store.pop(where(machine, target.id), None)
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
