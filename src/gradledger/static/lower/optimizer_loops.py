"""Loops over collections of optimizers that nobody knows: one stands for all of them."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.static.domain.values import UNKNOWN, Items, Known, Optimizer, Thing
from gradledger.static.lower.loop_rounds import once
from gradledger.static.lower.names import full_name
from gradledger.static.lower.quiet_values import eval_quietly
from gradledger.static.lower.scope_names import file_uses
from gradledger.static.lower.spelling import called_name, decided_by, last_name
from gradledger.static.source import syntax as ast
from gradledger.static.source.vocabulary import DOES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

NUMBERING = frozenset(["enumerate", "items", "zip"])
"""What gives pairs, of a number or a key and something else."""


def once_for_each(machine: Machine, counter: str, body: list[ast.stmt]) -> None:
    """A body that is done once for each of the optimizers, which are told apart by this."""
    with machine.within(each_once=machine.context.each_once | {counter}):
        once(machine, body)


def indexed_collection(machine: Machine, iterable: ast.expr) -> Known | None:
    """What `range(len(x))` counts the items of."""
    match iterable:
        case ast.Call(
            func=ast.Name(id="range"), args=[ast.Call(func=ast.Name(id="len"), args=[counted])]
        ):
            return machine.eval(counted)
    return None


def picking(machine: Machine, node: ast.For | ast.AsyncFor, items: Known) -> str:
    """The counter of a loop that takes another optimizer of a collection in each round.

    `for i in range(n)` and `optimizers[i]`, `for k in kinds` and `optimizers[str(k)]`.
    """
    target = node.target.elts[0] if isinstance(node.target, ast.Tuple) else node.target
    if not isinstance(target, ast.Name) or not machine.context.scope.module.says(DOES, node):
        return ""
    for statement in node.body:
        for inner in ast.walk(statement):
            if not isinstance(inner, ast.Subscript) or decided_by(inner.slice) != target.id:
                continue
            if isinstance(items, Items) and isinstance(inner.slice, ast.Name):
                continue  # which one it is, is known in each round
            if _are_optimizers(machine, inner, node):
                return full_name(machine, target.id)
    return ""


def _are_optimizers(machine: Machine, picked: ast.Subscript, loop: ast.For | ast.AsyncFor) -> bool:
    """Is one taken out of a collection of optimizers, made by a comprehension or a loop?"""
    held = eval_quietly(machine, picked.value)
    if isinstance(held, Items) and len(held.values) == 1:
        held = held.values[0]
    if isinstance(held, Optimizer):
        return True
    uses, name = file_uses(machine), last_name(picked.value)
    if not isinstance(held, Thing) or held.plain or uses.role(name) != "optimizer":
        return False
    if isinstance(loop.target, ast.Tuple) and called_name(loop.iter) not in NUMBERING:
        return False  # of data that says whose it is, there is more than one for each
    return any(map(uses.steps, [name, *_names_of(picked, loop)]))


def over_optimizers(machine: Machine, node: ast.For | ast.AsyncFor, items: Known) -> bool:
    """A loop over a collection of optimizers that nobody knows: all of them are as one."""
    if isinstance(items, Items) and items.values:
        return False
    uses = file_uses(machine)
    taken = [
        (target, collection)
        for target, collection in _taken_out(node.target, node.iter)
        if uses.role(target.id) in ("optimizer", "scheduler") and uses.steps(target.id)
    ]
    if not taken:
        return False
    machine.assign(node.target, UNKNOWN)
    for target, collection in taken:
        value = eval_quietly(machine, collection)
        key = value.key if isinstance(value, Thing) and value.key else ast.unparse(collection)
        known = machine.flow.store.get(f"{key}[*]")
        machine.set(full_name(machine, target.id), known or Thing(f"{key}[*]"))
    once_for_each(machine, full_name(machine, taken[0][0].id), node.body)
    return True


def _taken_out(target: ast.expr, iterable: ast.expr) -> Iterator[tuple[ast.Name, ast.expr]]:
    """The names of a loop, each with the collection that it is taken out of.

    `for i, (a, b) in enumerate(zip(x, y))` takes a out of x and b out of y.
    """
    match target, iterable:
        case ast.Name(), ast.Call(func=ast.Attribute(value=collection), args=[]):
            yield from _taken_out(target, collection)  # `optimizers.values()`
        case ast.Tuple(elts=[*_, last]), ast.Call(func=ast.Attribute(value=collection), args=[]):
            yield from _taken_out(last, collection)  # `optimizers.items()`
        case ast.Tuple(elts=targets), ast.Call(func=ast.Name(id="zip"), args=collections):
            for inner, collection in zip(targets, collections, strict=False):
                yield from _taken_out(inner, collection)
        case ast.Tuple(elts=[*_, last]), ast.Call(args=[collection, *_]):
            yield from _taken_out(last, collection)  # `enumerate(optimizers)`
        case ast.Name(), ast.Call(args=[collection, *_]):
            yield from _taken_out(target, collection)
        case ast.Name(), _ if not isinstance(iterable, ast.Call):
            yield target, iterable


def _names_of(picked: ast.Subscript, loop: ast.For | ast.AsyncFor) -> list[str]:
    """What the loop calls the one that it has picked."""
    return [
        target.id
        for inner in ast.walk(loop)
        if isinstance(inner, ast.Assign) and inner.value is picked
        for target in inner.targets
        if isinstance(target, ast.Name)
    ]
