"""Functions that do nothing to gradients, and are looked into for the sake of what they return."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gradledger.ledger.values import replace
from gradledger.static import budget
from gradledger.static.domain.values import ClassDef, FunctionDef, Items, Known, Thing
from gradledger.static.ir.keys import within
from gradledger.static.lower.call_graph import gives_several, is_generator
from gradledger.static.lower.function_text import length_of
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import NO_GRADIENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar

    from gradledger.static.lower.machine import Machine

if TYPE_CHECKING:
    T = TypeVar("T")

WEIGHS = Pattern(
    r"_loss\(|Loss\(|loss_fn|criterion|cross_entropy|\.mean\(\)|torch\.mean\(",
    words=("_loss(", "Loss(", "loss_fn", "criterion", "cross_entropy", ".mean()", "torch.mean("),
)
"""Words of functions that compute losses: means, sums, or something else."""


def quietly(machine: Machine, ask: Callable[[], T]) -> T:
    """A value, without what happens on the way to it."""
    outer, machine.out = machine.out, []
    try:
        return ask()
    finally:
        machine.out = outer


def is_worth_a_look(machine: Machine, function: FunctionDef) -> bool:
    """Does somebody call it a loss, or is it one more way to call a net; and is it short?"""
    if length_of(function.node) >= budget.LONG_FUNCTION:
        return False
    if "loss" in getattr(function.node, "name", "").lower():
        return True
    # Of several things that a net gives, some are numbers: the actions that it drew.
    net = isinstance(function.bound, Thing) and _is_net(function.cls)
    return net and not gives_several(machine, function)


def depends_on_what_is_called(machine: Machine, made: Thing) -> bool:
    """Is it for the function to say whether its result leads to somebody's net?"""
    if len(machine.log.optimizers) < 2 or not made.maybe:
        return False
    inside = tuple(f"{key}." for key in made.maybe)
    held_by_them = {
        value.key
        for name, value in machine.flow.store.items()
        if name.startswith(inside) and isinstance(value, Thing)
    }
    return any(map(partial(_is_trained, machine), made.maybe | held_by_them))


def looked_into(
    machine: Machine, function: FunctionDef, made: Thing, follow: Callable[[], Known]
) -> Known:
    """What was made, leading to the nets that the function is seen to call on the way.

    What it is not seen to lead to is no more than possible.
    """

    def as_seen(part: Known) -> Known:
        if not isinstance(part, Thing) or part.plain:
            return made
        reach = frozenset(filter(partial(_is_trained, machine), part.reach))
        reach |= {key for key in made.reach if not _is_trained(machine, key)}
        maybe = (made.maybe | made.reach) - reach
        return _attached(replace(made, reach=reach, maybe=maybe, weight=part.weight), part)

    return _seen(machine, function, made, follow, as_seen)


def weighs(machine: Machine, function: FunctionDef) -> bool:
    """Does it compute a loss, by its words; and is it short? What it gives has a weight."""
    short = length_of(function.node) < budget.LONG_FUNCTION
    return short and bool(machine.context.loops) and function.module.says(WEIGHS, function.node)


def weighed(
    machine: Machine, function: FunctionDef, made: Thing, follow: Callable[[], Known]
) -> Known:
    """What was made, with the weight and the graph that the function is seen to give it.

    And with the states that it is seen to be computed from, also those that nobody gave it.
    """

    def as_seen(part: Known) -> Known:
        if not isinstance(part, Thing):
            return made
        seen = replace(made, weight=part.weight, passes=part.passes, carried=part.carried)
        return _attached(seen, part)

    return _seen(machine, function, made, follow, as_seen)


def handed_on(
    machine: Machine, function: FunctionDef, made: Known, follow: Callable[[], Known]
) -> Known:
    """What was made of a state, with the graph that the function is seen to give it."""
    if not isinstance(made, Thing) or made.sure or length_of(function.node) >= budget.LONG_FUNCTION:
        return made
    if made.plain or function.module.says(NO_GRADIENTS, function.node):
        return made

    def as_seen(part: Known) -> Known:
        if not isinstance(part, Thing) or part.plain:
            return made
        return replace(made, sure=part.sure, carried=part.carried)

    return _seen(machine, function, made, follow, as_seen)


def _seen(
    machine: Machine,
    function: FunctionDef,
    made: Thing,
    follow: Callable[[], Known],
    as_seen: Callable[[Known], Known],
) -> Known:
    """What comes of a function, or each of the things that do; nothing else changes by it."""
    if len(machine.context.stack) >= budget.DEEPEST_CALL or is_generator(machine, function):
        return made
    if (
        2 * max(machine.effort.statements, machine.effort.work // 2)
        > machine.effort.most_statements
    ):
        return made  # there is enough to do
    before, log = machine.fork(), machine.log
    inlined, unknown = log.inlined.copy(), len(log.unknown)
    value = quietly(machine, follow)
    machine.flow, log.inlined, log.unknown = before, inlined, log.unknown[:unknown]
    if isinstance(value, Items) and all(isinstance(name, str) for name in value.names):
        return Items(tuple(map(as_seen, value.values)), value.names)
    return as_seen(value)


def _is_trained(machine: Machine, key: str) -> bool:
    """Does an optimizer have it, or a part of it?"""
    return any(
        within(key, k) or within(k, key)
        for optimizer in machine.log.optimizers.values()
        for k in optimizer.keys or ()
    )


def _attached(made: Thing, seen: Thing) -> Thing:
    """What was made, with a graph as sure as the one that was seen."""
    sure = seen.sure and not seen.plain and not seen.by_name
    return replace(made, sure=sure, among=seen.among)


def _is_net(cls: ClassDef | None) -> bool:
    return cls is not None and any(ast.unparse(b).endswith("Module") for b in cls.node.bases)
