"""What statements like `total += loss` keep, and the graphs that come with it."""

from __future__ import annotations

from functools import partial

from gradledger.ledger.values import replace
from gradledger.static.domain.values import Constant, Items, Known, Thing
from gradledger.static.domain.weights import terms_of
from gradledger.static.lower.arithmetic import computed
from gradledger.static.lower.item_calls import keep_loss
from gradledger.static.lower.names import is_of_this_batch, lookup, names_walked_back
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def growing(machine: Machine, target: ast.expr, node: ast.expr, value: Known) -> Known:
    """`mean = 0.9 * mean + 0.1 * loss`: what is made of itself holds all graphs so far."""
    if isinstance(node, ast.Tuple) and isinstance(value, Items):
        parts = target.elts if isinstance(target, ast.Tuple) else [target] * len(node.elts)
        if len(parts) == len(node.elts) == len(value.values):
            each = map(partial(growing, machine), parts, node.elts, value.values)
            return replace(value, values=tuple(each))
    elif isinstance(node, ast.IfExp):
        for way in (node.body, node.orelse):
            value = growing(machine, target, way, value)
    elif isinstance(target, ast.Name) and isinstance(node, ast.BinOp):
        losses = (lookup(machine, name) for name in _added_to(machine, target.id, node))
        for loss in losses:
            if isinstance(loss, Thing) and loss.sure and not loss.plain:
                return summed(machine, value, loss, target, target)
    return value


def _added_to(machine: Machine, name: str, node: ast.BinOp) -> list[str]:
    """The losses that a sum has in it besides itself, if it has itself in it."""
    terms = list(terms_of(node))
    if name not in terms or name in names_walked_back(machine):
        return []
    return [term for term in terms if term in names_walked_back(machine)]


def summed(machine: Machine, made: Known, value: Thing, target: ast.expr, node: ast.AST) -> Known:
    """`total += loss`: the sum holds the graphs of all iterations."""
    if not isinstance(made, Thing) or made.plain:
        return made
    if (
        not machine.context.loops
        or not value.sure
        or value.plain
        or is_of_this_batch(machine, target)
    ):
        return made
    at = keep_loss(machine, value, node)
    return replace(made, kept=made.kept | {at}, sure=True)


def hold(machine: Machine, item: ast.Subscript, value: Thing) -> None:
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
