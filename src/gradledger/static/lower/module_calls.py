"""Nets that are called, and other modules: what comes of them, and what its graph leads to."""

from __future__ import annotations

from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    NO_PLACES,
    PLAIN,
    RECIPE,
    ClassDef,
    Known,
    Places,
    Thing,
    is_plain,
    reach_of,
)
from gradledger.static.ir.effects import Clears
from gradledger.static.ir.keys import NO_KEYS, within
from gradledger.static.ir.notes import ModuleKeepsGraph
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.arithmetic import computed, passes_of
from gradledger.static.lower.attributes import (
    APPLIED,
    LABELLED,
    bases_outside,
    is_model,
    lineage,
    method_of,
)
from gradledger.static.lower.backward_calls import forgets_its_graph
from gradledger.static.lower.call_graph import gives_several, is_interesting
from gradledger.static.lower.inline import call_function
from gradledger.static.lower.module_outputs import (
    gives_numbers,
    judged_output,
    losses_of,
    several_outputs,
)
from gradledger.static.lower.noting import note
from gradledger.static.lower.scope_names import is_local
from gradledger.static.lower.unknown_calls import arguments_of, keys_named, watch_unknown_call
from gradledger.static.models import facts
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

OWN_CLEAR = Pattern(r"self\.zero_grad\(", words=("self.zero_grad(",))

THAWS = Pattern(
    r"requires_grad\w*(?:\(\)|[^\r\n]*\bTrue\b)",
    words=("requires_grad",),
)
"""Words of code that gives gradients back: what it takes them from has none only in between."""


def _with_unlisted(machine: Machine, made: Thing, key: str, cls: ClassDef) -> Thing:
    """What a module gives, made also by the layers that it keeps in plain lists."""
    if len(lineage(machine, cls)) > 1 or bases_outside(machine, cls) != ["torch.nn.Module"]:
        return made
    if key not in machine.log.unlisted:
        from gradledger.static.lower.plain_list_layers import unlisted

        machine.log.unlisted[key] = unlisted(cls)
    return replace(made, reach=made.reach | {f"{key}'s {n}" for n in machine.log.unlisted[key]})


def call_object(machine: Machine, thing: Thing, node: ast.Call) -> Known:
    """Calls an object: a module, or something of which nobody knows what it is."""
    arguments = arguments_of(machine, node)
    if thing.built == APPLIED:
        return computed(machine, *arguments.values())
    forward = None
    if thing.cls is not None:
        method = method_of(machine, thing.cls, "__call__")
        if method is not None and is_interesting(machine, method):
            return call_function(machine, replace(method, bound=thing), arguments, node)
        forward = method_of(machine, thing.cls, "forward")
        if thing.key and forward is not None and forward.module.says(OWN_CLEAR, forward.node):
            machine.emit(Clears(machine.at(node), frozenset({thing.key})))
        if forward is not None and not forgets_its_graph(machine, thing.key):
            note(machine, ModuleKeepsGraph, machine.at(node), frozenset({thing.key} - {""}))
    watch_unknown_call(machine, thing.key, thing, arguments, node)
    model = is_model(machine, thing.key) or thing.built.startswith("torch.nn.")
    model = model or _is_spent_for(machine, thing)
    made = computed(machine, thing, *arguments.values(), sure=False)
    if forward is not None and gives_numbers(machine, thing, forward, arguments, node):
        return PLAIN
    judged = judged_output(machine, thing, forward, arguments, node)
    if judged is not None and judged.plain:
        return PLAIN
    if made.reach and forward is not None and gives_several(machine, forward):
        given = filter(None, map(reach_of, arguments.values()))
        surely = made.reach.intersection(*given)
        made = replace(made, reach=surely, maybe=made.maybe | (made.reach - surely))
    if not made.plain:
        made = _with_own_parameters(machine, made, thing, arguments)
        if thing.key and thing.cls is not None:
            made = _with_unlisted(machine, made, thing.key, thing.cls)
    if thing.cls is not None and not made.plain:
        losses = losses_of(machine, thing, arguments, made, node)
        if losses is not None and machine.context.grad_enabled:
            return losses
    if not machine.context.grad_enabled:
        return PLAIN
    carried = frozenset().union(
        *(v.carried for v in arguments.values() if isinstance(v, Thing)), frozenset()
    )
    weight = replace(
        made.weight,
    )
    kind = facts.last(thing.built)
    if kind in facts.MEAN_MODULES:
        weight = thing.weight
    depths = [v.depth for v in arguments.values() if isinstance(v, Thing) and v.sure and v.reach]
    made = replace(
        made,
        sure=model and _adds_a_graph(machine, thing, arguments),
        carried=carried,
        weight=weight,
        local=bool(is_local(machine)) or (made.local and kind in facts.MEAN_MODULES),
        depth=min(depths, default=len(machine.context.loops)),
        built=LABELLED if _labelled(node) and model else _by_recipe(thing, node),
        passes=_passes(machine, thing, arguments, node),
    )
    if judged is not None:
        made = replace(made, sure=made.sure and judged.sure, among=judged.among)
    return several_outputs(machine, thing, arguments, made, node)


def _adds_a_graph(machine: Machine, thing: Thing, arguments: Arguments) -> bool:
    """Has what it gives surely a graph? Without free parameters, if what it is given has."""
    kind = facts.last(thing.built)
    computes = thing.built.startswith("torch.nn.") and not facts.has_parameters(thing.built)
    computes = computes and kind not in (*facts.CONTAINERS, "Module")
    if not computes and not _is_frozen(machine, thing):
        return True
    return any(isinstance(v, Thing) and (v.sure or v.leaf) for v in arguments.values())


def _is_frozen(machine: Machine, thing: Thing) -> bool:
    """Has it no gradients while it is called?"""
    return bool(thing.key) and any(within(thing.key, key) for key in machine.flow.frozen)


def _is_spent_for(machine: Machine, thing: Thing) -> bool:
    """Has an optimizer got its parameters, in whatever file that was? Then it is a net."""
    return bool(thing.key) and any(
        thing.key in (optimizer.keys or ()) and not optimizer.tensors
        for optimizer in machine.log.optimizers.values()
    )


def _passes(machine: Machine, thing: Thing, arguments: Arguments, node: ast.Call) -> Places:
    """The calls that the graph of what a model gives was made by, this one among them."""
    if not is_local(machine) and facts.last(thing.built) not in facts.MEAN_MODULES:
        machine.log.averaged[machine.at(node)] = thing.replicated
    if not (thing.key and forgets_its_graph(machine, thing.key)):
        return NO_PLACES
    given = [v for v in arguments.values() if not is_plain(v)]
    before = passes_of(given)
    own = not given and (thing.cls is not None or facts.has_parameters(thing.built))
    return before | {machine.at(node)} if before or own else NO_PLACES


def _with_own_parameters(
    machine: Machine, made: Thing, thing: Thing, arguments: Arguments
) -> Thing:
    """What a model gives leads to its own parameters, unless these are frozen meanwhile."""
    own = reach_of(thing)
    if thing.cls is not None:
        own |= keys_named(machine, thing)
    if _is_frozen_for_now(machine, thing):
        given = NO_KEYS.union(*map(reach_of, arguments.values()))
        return replace(made, reach=made.reach - own | given, maybe=made.maybe - own - given)
    reach = made.reach | own
    return replace(made, reach=reach, maybe=made.maybe - reach)


def _is_frozen_for_now(machine: Machine, thing: Thing) -> bool:
    """Has it no gradients while it is called, and gets them back? Its graph stays without."""
    return _is_frozen(machine, thing) and machine.context.scope.module.says_anywhere(THAWS)


def _by_recipe(thing: Thing, node: ast.Call) -> str:
    """Is something called of which nobody knows whether it is a net, or makes one?"""
    given = node.args or node.keywords or thing.cls is not None or thing.built
    return "" if given else RECIPE


def _labelled(node: ast.Call) -> bool:
    """Does a model get the labels, so that it computes its loss itself?"""
    return any(k.arg in (None, "labels") for k in node.keywords)
