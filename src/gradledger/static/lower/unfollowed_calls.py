"""Functions that do nothing to gradients, and what is made of them without a walk through them."""

from __future__ import annotations

from collections.abc import Iterable

from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    PLAIN,
    UNKNOWN,
    FunctionDef,
    Items,
    Known,
    Parameters,
    Thing,
    reach_of,
)
from gradledger.static.ir.effects import Renews
from gradledger.static.ir.keys import NO_KEYS, Keys, within
from gradledger.static.ir.notes import AttributesReplaced, FrozenHandedOut
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.arithmetic import computed
from gradledger.static.lower.attributes import is_model
from gradledger.static.lower.call_graph import gives_several, is_generator, reaches
from gradledger.static.lower.function_text import cuts, has_no_graph
from gradledger.static.lower.noting import note
from gradledger.static.lower.return_values import (
    depends_on_what_is_called,
    is_worth_a_look,
    looked_into,
    weighed,
    weighs,
)
from gradledger.static.project.module import ATTRIBUTES
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import HOOKS, TRAINS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

ATTACHES = Pattern(
    r"setattr\(|add_module\(|register_(?:parameter|module)\(|Parameter\("
    r"|(?:\]|(?<!self)\.\w+)[ \t]*=[ \t]*[\w.]*\b[A-Z]\w*\(",
    words=("setattr(", "add_module(", "register_", "Parameter(", "="),
)
"""Words of functions that hang new modules or parameters into what they are given."""


def attaches(machine: Machine, function: FunctionDef) -> bool:
    """Does it give new parts to an object, by itself or by what it calls?"""
    return reaches(
        machine, function, machine.known.attaching, lambda f: f.module.says(ATTACHES, f.node)
    )


def may_thaw(machine: Machine, values: Iterable[Known], node: ast.AST) -> None:
    """Who gets a frozen net may hang new parameters into it, or set its own free."""
    frozen = machine.flow.frozen
    given = NO_KEYS.union(*map(_keys_given, values)) if frozen else NO_KEYS
    thawed = {k for k in frozen if any(within(key, k) or within(k, key) for key in given)}
    if thawed:
        note(machine, FrozenHandedOut, machine.at(node), given | thawed)


def unfollowed_result(
    machine: Machine, function: FunctionDef, arguments: Arguments, node: ast.AST
) -> Known:
    """The result of a function that does nothing to gradients."""
    if id(function.node) in machine.context.stack:
        return UNKNOWN
    if has_no_graph(function.node):
        return PLAIN
    bound = (function.bound,) if function.bound is not None else ()
    if isinstance(function.bound, Thing) and function.bound.key:
        _renew_attributes(machine, function, function.bound.key, node)
        if function.module.says(ATTRIBUTES, function.node):
            may_thaw(machine, bound, node)
        if machine.log.optimizers:
            from gradledger.static.lower.replaced_parameters import exchange_parts

            exchange_parts(machine, function, function.bound, node)
    if not machine.flow.listening and function.module.says(HOOKS, function.node):
        machine.flow = replace(machine.flow, listening=True)
    if machine.flow.evaluating and function.module.says(TRAINS, function.node):
        machine.flow = replace(machine.flow, evaluating=NO_KEYS)
    values = (*bound, *arguments.values())
    made = computed(machine, *values, sure=False)
    if made.plain:
        made = computed(machine, *_nets_called(machine, function), sure=False)
    if made.plain and is_generator(machine, function):
        from gradledger.static.lower.generators import number_given

        number = number_given(machine, function, arguments)
        return Thing(plain=True, shape=(number,)) if number else made
    if made.reach:
        surely = made.reach
        if cuts(function):
            surely = NO_KEYS
        elif gives_several(machine, function):
            # Which of them is made of which argument, nobody knows: data is an argument, too.
            given = (reach_of(v) for v in values if isinstance(v, Thing) or reach_of(v))
            surely = made.reach.intersection(*given)
        made = replace(made, reach=surely, maybe=made.maybe | (made.reach - surely))

    def follow() -> Known:
        return machine.follow(function, arguments, node)

    if is_worth_a_look(machine, function) and depends_on_what_is_called(machine, made):
        return looked_into(machine, function, made, follow)
    if not made.plain and weighs(machine, function):
        return weighed(machine, function, made, follow)
    return made


def _nets_called(machine: Machine, function: FunctionDef) -> list[Thing]:
    """The nets that a function calls without having been given them: those around it."""
    around = (
        machine.flow.store.get(function.scope + n) for n in function.module.calls(function.node)[0]
    )
    return [v for v in around if isinstance(v, Thing) and v.key and is_model(machine, v.key)]


def _renew_attributes(machine: Machine, function: FunctionDef, owner: str, node: ast.AST) -> None:
    """A method that is not followed may give its object other models, or graphs."""
    for name in set(ATTRIBUTES.findall(function.module.text(function.node))):
        if getattr(function.node, "name", "") != "__init__":
            note(machine, AttributesReplaced, machine.at(node))
        held = machine.flow.store.get(f"{owner}.{name}", Thing(f"{owner}.{name}"))
        if isinstance(held, Thing) and held.key and not held.plain:
            machine.emit(Renews(machine.at(node), frozenset({held.key})))


def _keys_given(value: Known) -> Keys:
    """What somebody can change who has this value."""
    match value:
        case Thing():
            return frozenset({value.key} if value.key and not value.plain else ())
        case Items():
            return NO_KEYS.union(*map(_keys_given, value.values))
        case Parameters():
            return value.keys
        case _:
            return NO_KEYS
