"""Lists and dicts: their methods, and the losses that are kept in them with their graphs."""

from __future__ import annotations

from gradledger.ledger.events import Keep
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    NO_PLACES,
    PLAIN,
    UNKNOWN,
    Constant,
    Items,
    Known,
    Optimizer,
    Places,
    Thing,
    is_plain,
    kept_in,
    key_of,
)
from gradledger.static.ir.keys import NO_KEYS, within
from gradledger.static.lower.arithmetic import computed
from gradledger.static.lower.expressions import release
from gradledger.static.lower.names import is_of_this_batch, loss_terms, names_walked_back
from gradledger.static.lower.output_parts import may_be_a_number
from gradledger.static.lower.spelling import last_name
from gradledger.static.lower.unknown_calls import arguments_of
from gradledger.static.lower.value_names import register
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern, literal
from gradledger.static.source.vocabulary import CUTS, NO_GRADIENTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


_BOUNDED = r"\b{}\s*(?::[^=\n]+)?=\s*(?:\w+\.)?deque\([^\n]*\bmaxlen\s*=\s*(?!None)"
"""A queue with a bound."""


def items_method(machine: Machine, items: Items, name: str, node: ast.Call) -> Known:
    """Calls a method of a list or dict."""
    arguments = arguments_of(machine, node)
    if name in ("append", "add") and arguments.positional:
        put_into(machine, node, arguments.positional[0])
        return PLAIN
    if name == "extend" and arguments.positional:
        put_into(machine, node, arguments.positional[0])
        return PLAIN
    if name == "clear":
        release(machine, kept_in(items), node)
        return PLAIN
    if name in ("values", "copy"):
        return Items(items.values)
    if name == "items":
        pairs = zip(items.names, items.values, strict=False)
        return Items(tuple(Items((key_of(name), value)) for name, value in pairs))
    if name == "keys":
        return PLAIN
    if name in ("get", "pop") and items.names:
        key = arguments.get(0, "")
        if isinstance(key, Constant) and (value := items.at(key.value)) is not None:
            return value
    if name == "pop" and items.values:
        return items.values[-1]
    return UNKNOWN


def put_into(machine: Machine, node: ast.Call, value: Known) -> None:
    """A list gets one more: parameters, optimizers, losses with their graph."""
    assert isinstance(node.func, ast.Attribute)
    target = node.func.value
    held = machine.eval(target)
    values = held.values if isinstance(held, Items) else ()
    kept = (
        NO_PLACES
        if may_be_a_number(machine, node.args[0])
        else _keep_loss_in(machine, value, node, target)
    )
    if kept:
        value = replace(value, kept=value.kept | kept) if isinstance(value, Thing) else value
    if isinstance(held, Thing) and isinstance(value, Thing):
        # Nobody knows what was in it, nor which of it will be taken out.
        made = computed(machine, held, value, sure=False)
        maybe = made.maybe | made.reach
        machine.rebind(target, replace(made, key=held.key, reach=NO_KEYS, maybe=maybe))
    elif isinstance(value, Optimizer) and not value.name:
        _put_optimizer(machine, target, held, value)
    elif len(values) < 8 and value not in values:
        if isinstance(value, Thing):  # it stays there when the next round comes
            value = replace(value, passes=NO_PLACES)
        machine.rebind(target, Items((*values, value)))


def _put_optimizer(machine: Machine, target: ast.expr, held: Known, new: Optimizer) -> None:
    """`optimizers.append(Adam(…))`: in a loop, one stands for all that it makes."""
    shown = ast.unparse(target)
    if machine.context.loops and held == Items(()):
        machine.rebind(target, register(machine, replace(new, name=shown)))
    elif isinstance(held, Items) and len(held.values) < 8:
        named = register(machine, replace(new, name=f"{shown}[{len(held.values)}]"))
        machine.rebind(target, Items((*held.values, named)))


def _keep_loss_in(machine: Machine, value: Known, node: ast.AST, target: ast.expr) -> Places:
    if not machine.context.loops or not isinstance(value, Thing) or not value.sure or value.plain:
        return NO_PLACES
    name = value.key.rpartition(".")[2].rpartition(":")[2]
    if "loss" not in name.lower() and name not in names_walked_back(machine) | loss_terms(machine):
        return NO_PLACES  # tensors are kept for many reasons; losses for their value alone
    if value.key and any(
        name.startswith(value.key + "[") and is_plain(held)
        for name, held in machine.flow.store.items()
    ):
        return NO_PLACES  # a part of it was detached
    if is_of_this_batch(machine, target):
        return NO_PLACES
    holder = last_name(target)
    if holder and f"{holder}.pop" in machine.context.scope.module.source:
        return NO_PLACES  # what is put into it is taken out again
    if holder and machine.context.scope.module.says_in_text(_BOUNDED.format(literal(holder))):
        return NO_PLACES  # the oldest goes with each that comes
    return frozenset({keep_loss(machine, value, node)})


def keep_loss(machine: Machine, value: Thing, node: ast.AST) -> Place:
    """A loss is put there with its graph."""
    at = machine.at(node)
    machine.emit(Keep(at, "loss"))
    if _is_surely_recorded(machine, value):
        machine.log.recorded[at] = value, machine.context.scope, machine.context.loops[-1].node
    return at


def _is_surely_recorded(machine: Machine, value: Thing) -> bool:
    """Are all nets that it was made by in sight, and is nothing that may switch them off?"""
    if (
        machine.context.grad_in_doubt
        or machine.flow.grad_in_doubt
        or value.by_name
        or not (value.sure and value.reach)
    ):
        return False
    loop = machine.context.loops[-1]
    if value.depth != len(machine.context.loops) or not loop.is_of_all_data(
        machine.context.loops[:-1]
    ):
        return False
    if loop.hands_on:
        return False
    frozen = any(within(net, key) for net in value.reach for key in machine.flow.frozen)
    return not frozen and not any(
        says_of(machine, net, words) for net in value.reach for words in (CUTS, NO_GRADIENTS)
    )


def says_of(machine: Machine, key: str, words: Pattern) -> bool:
    """Is it a model of the project's own, whose class says one of these words?"""
    model = machine.flow.store.get(key)
    cls = model.cls if isinstance(model, Thing) else None
    return cls is not None and cls.module.says(words, cls.node)
