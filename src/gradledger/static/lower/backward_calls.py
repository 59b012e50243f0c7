"""Backward passes: what each deposits, where, and in which unit."""

from __future__ import annotations

from functools import partial
from itertools import combinations

from gradledger.ledger.values import replace
from gradledger.static.domain.values import UNKNOWN, Constant, Items, Known, Thing, reach_of
from gradledger.static.ir.answers import exclude
from gradledger.static.ir.effects import Deposits, Excuses
from gradledger.static.ir.keys import NO_KEYS, within
from gradledger.static.ir.program import Branch, Do, Program
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.arithmetic import computed, keys_of
from gradledger.static.lower.attributes import method_of
from gradledger.static.lower.scope_names import is_local
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import HOOKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

KEEPS = Pattern(r"self\.\w+(?:\[[^][]*\])?\s*=|self\.\w+\.append")
"""Words of methods that leave something behind in their object."""


OF_ANY_NET = (
    "parameters|named_parameters|train|eval|to|cuda|zero_grad|state_dict|load_state_dict"
    "|requires_grad_"
)
"""What is done with every net, whatever it keeps in itself."""


def deposit(
    machine: Machine, loss: Known, node: ast.AST, arguments: Arguments | None = None, **more: object
) -> None:
    """A backward pass from a loss."""
    arguments = arguments or Arguments()
    if isinstance(loss, Items):
        things = [v for v in loss.values if isinstance(v, Thing)]
        loss = computed(machine, *things) if things else UNKNOWN
    if not isinstance(loss, Thing):
        loss = UNKNOWN
    elif loss.plain and not loss.key:  # it has a graph, of which nothing was seen
        loss = Thing(scaler=loss.scaler)
    inputs = arguments.named.get("inputs")
    reach = keys_of(machine, inputs) if inputs is not None else reach_of(loss)
    retain = arguments.named.get("retain_graph")
    create = arguments.named.get("create_graph")
    effect = Deposits(
        machine.at(node),
        reach,
        frozen=machine.flow.frozen,
        half_frozen=machine.flow.half_frozen,
        weight=loss.weight,
        scaler=loss.scaler,
        scaled_if=loss.scaled_if,
        local=_locality(machine, loss, reach),
        retains=retain == Constant.of(True)
        and create is None
        and not _walks_by_hand(machine)
        and loss.depth == len(machine.context.loops)
        and all(map(partial(_keeps_nothing, machine), reach)),
        walks=loss.kept | loss.carried,
        passes=loss.passes,
        maybe=loss.maybe if inputs is None else NO_KEYS,
    )
    _deposit_where_frozen(machine, replace(effect, **more) if more else effect)
    machine.log.reached |= reach
    again = retain is not None and _may_be_for_others(machine, retain, reach)
    if again or create is not None or machine.flow.listening:
        # The graph is walked again, or listened to: this pass may be for hooks or a penalty.
        # Nets that are trained against each other keep it for the other's turn.
        machine.emit(Excuses(machine.at(node), reach))
    if machine.flow.listening:
        machine.flow = replace(machine.flow, listening=False)
    machine.log.backwards += 1


def _deposit_where_frozen(machine: Machine, effect: Deposits) -> None:
    """What an option has frozen gets nothing where that option is chosen."""
    asked = sorted({name for key, name, _ in machine.flow.frozen_if if _reaches(effect, key)})
    # Of several that may all be chosen, the paths would be too many.
    if len(machine.log.optimizers) < 2 or not asked or not _one_at_most(asked):
        machine.emit(effect)
        return

    def where(chosen: str | None) -> Program:
        facts = machine.flow.frozen_if
        keys = {key for key, name, way in facts if name in asked and way is (name == chosen)}
        return Do(replace(effect, frozen=effect.frozen | keys))

    written = where(None)
    for name in reversed(asked):
        written = Branch(where(name), written, name)
    machine.effort.count_work(len(asked) + 1)
    machine.out.append(written)


def _one_at_most(asked: list[str]) -> bool:
    """`kind == "a"`, `kind == "b"`: can no two of them be true together?"""
    return all(exclude((one, True), (other, True)) for one, other in combinations(asked, 2))


def _may_be_for_others(machine: Machine, retain: Known, reach: frozenset[str]) -> bool:
    """May a pass that keeps its graph be made for somebody else than the optimizer?"""
    if len(machine.log.optimizers) > 1 or retain == Constant.of(False):
        return False
    if retain != Constant.of(True) or not reach or _walks_by_hand(machine):
        return True
    listens = machine.context.scope.module.says_anywhere(HOOKS)
    return listens or not all(map(partial(_is_plain_net, machine), reach))


def _is_plain_net(machine: Machine, key: str) -> bool:
    """Is it surely a model, all of it in sight, in which nobody listens?"""
    thing = machine.flow.store.get(key)
    cls = thing.cls if isinstance(thing, Thing) else None
    listens = cls is not None and cls.module.says_anywhere(HOOKS)
    return forgets_its_graph(machine, key) and not listens


def _walks_by_hand(machine: Machine) -> bool:
    """Does the function ask for gradients itself, besides?"""
    module = machine.context.scope.module
    return "autograd.grad(" in module.text(machine.context.scope.node or module.tree)


def _keeps_nothing(machine: Machine, key: str) -> bool:
    """Is it a model that leaves no graph behind, or one that the file only calls and trains?

    Of one that nobody can look into, a state would have to be let go of, by some method.
    """
    thing = machine.flow.store.get(key)
    name = key.rpartition(":")[2]
    if isinstance(thing, Thing) and thing.cls is None and thing.built and name.isidentifier():
        module = machine.context.scope.module
        return not module.says_in_text(rf"\b{name}\s*\.\s*(?!(?:{OF_ANY_NET})\b)")
    return forgets_its_graph(machine, key)


def forgets_its_graph(machine: Machine, key: str) -> bool:
    """Is it surely a model of which no call leaves a graph behind in it?"""
    thing = machine.flow.store.get(key)
    if not isinstance(thing, Thing):
        return False
    if thing.cls is None:
        return (thing.leaf and not thing.reach) or thing.built.startswith("torch.nn.")
    forward = method_of(machine, thing.cls, "forward")
    return forward is not None and not KEEPS.search(forward.module.text(forward.node))


def _locality(machine: Machine, loss: Thing, reach: frozenset[str]) -> bool | None:
    alone = bool(loss.passes) and loss.passes.isdisjoint(machine.log.averaged.keys())
    if loss.local and (is_local(machine) or alone):
        return True  # the forward decides, wherever the backward stands
    replicated = any(
        isinstance(value, Thing) and value.replicated and (name in reach or value.key in reach)
        for name, value in machine.flow.store.items()
    ) or any(machine.log.averaged.get(called) for called in loss.passes)
    # Under `no_sync()` with its backward alone, it is averaged all the same.
    settled = is_local(machine) is not None or not _may_hold_back(machine)
    return False if replicated and settled else None


def _may_hold_back(machine: Machine) -> bool:
    """Is there a word of ranks that do not sync, in some way that is not followed?"""
    source = machine.context.scope.module.source
    return machine.context.no_sync_maybe or "no_sync" in source or "backward_grad_sync" in source


def _reaches(effect: Deposits, key: str) -> bool:
    """May it deposit there?"""
    return any(within(r, key) or within(key, r) for r in effect.keys | effect.maybe)
