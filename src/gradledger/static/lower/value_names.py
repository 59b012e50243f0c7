"""What values are called: those that are made get their names when they are assigned."""

from __future__ import annotations

from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    Constant,
    Items,
    Known,
    Optimizer,
    Scaler,
    Scheduler,
    Thing,
)
from gradledger.static.ir.effects import Excuses, Renews, TakesOver
from gradledger.static.ir.keys import NO_KEYS, within
from gradledger.static.lower.scope_names import forget, note_holder
from gradledger.static.models.facts import has_parameters
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def bind(machine: Machine, full: str, value: Known, node: ast.AST, shown: str) -> Known:
    """Gives a name to a value, and the value its name, if it has none."""
    match value:
        case Thing(key="") if not value.plain:
            value = _named_thing(machine, value, full, node)
        case Optimizer(name=""):
            before = machine.log.optimizers.get(shown)
            value = register(machine, replace(value, name=shown))
            if value.keys is None and (machine.context.loops or before is not None):
                machine.emit(Renews(machine.at(node), optimizer=value.name))
            elif before is not None and _takes_over(value, before, machine.log.reached):
                machine.emit(Renews(machine.at(node), value.keys or NO_KEYS))
            elif machine.log.reached:
                # What was deposited before there was an optimizer was not meant to be spent.
                machine.emit(Excuses(machine.at(node), optimizer=value.name))
        case Scaler(name=""):
            value = replace(value, name=shown)
        case Scheduler(name=""):
            value = replace(value, name=shown)
        case Items():
            value = _named_items(machine, value, shown)
    machine.set(full, value)
    note_holder(machine, value, shown, machine.context.scope)
    if machine.context.loops:
        at = machine.at(node)
        for loop in machine.context.loops:
            loop.assigned[full] = at
    forget(machine, full)
    return value


def _named_thing(machine: Machine, thing: Thing, full: str, node: ast.AST) -> Thing:
    """A thing that was just made; one of the same name from elsewhere is another one."""
    made = bool(thing.built or thing.cls)
    before = machine.flow.store.get(full)
    if made and isinstance(before, Thing) and (before.built or before.cls):
        full = f"{full}@{getattr(node, 'lineno', 0)}"
    again = made and isinstance(before, Thing) and before.key == full
    if thing.copied:
        machine.log.copies.add(full)
    thing = replace(thing, key=full, copied=False)
    if has_parameters(thing.built):
        machine.log.made.add(full)
    fresh = made or (thing.leaf and not thing.reach)  # a leaf without a name is made right here
    if again or (fresh and (machine.context.loops or "@" in full)):
        machine.emit(Renews(machine.at(node), frozenset({full})))
    return thing


def _named_items(machine: Machine, items: Items, shown: str) -> Items:
    """Optimizers in a list or dict are called by their place in it."""
    values: list[Known] = []
    for place, value in enumerate(items.values):
        which = items.names[place] if items.names else place
        name = f"{shown}[{which!r}]"
        match value:
            case Optimizer(name=""):
                value = register(machine, replace(value, name=name))
            case Scaler(name="") | Scheduler(name=""):
                value = replace(value, name=name)
            case Items():
                value = _named_items(machine, value, name)
        values.append(value)
    return replace(items, values=tuple(values))


def register(machine: Machine, optimizer: Optimizer) -> Optimizer:
    """Notes an optimizer under its name, or under another one if that is taken."""
    known = machine.log.optimizers.get(optimizer.name)
    if known is not None and known != optimizer:
        is_now_known = known.keys is None and optimizer.keys is not None
        if _is_the_same(optimizer, known):
            # Made in two branches or once per epoch.
            optimizer = replace(optimizer, made_at=known.made_at)
        elif known.made_at != optimizer.made_at and not is_now_known:
            # Another one, by the same name.
            name = f"{optimizer.name} (line {_line_apart(optimizer.made_at, known.made_at)})"
            while (taken := machine.log.optimizers.get(name)) and not _is_the_same(
                optimizer, taken
            ):
                name += ", again"
            optimizer = replace(optimizer, name=name)
    machine.log.optimizers[optimizer.name] = optimizer
    if optimizer.keys:
        machine.emit(TakesOver(optimizer.made_at, optimizer.keys))
    return optimizer


# Models that are told to evaluate: what they compute then may be something else.


def is_evaluating(machine: Machine, key: str) -> bool:
    """Was it, or what it is a part of, told to evaluate, and not to train since?"""
    return bool(key) and any(within(key, whole) for whole in machine.flow.evaluating)


def set_mode(machine: Machine, key: str, method: str, argument: Known | None) -> None:
    """`net.eval()`, `net.train()`, `net.train(False)`."""
    evaluating = frozenset(
        k for k in machine.flow.evaluating if not within(k, key) and not within(key, k)
    )
    if method == "eval" or argument == Constant.of(False):
        evaluating |= {key}
    machine.flow = replace(machine.flow, evaluating=evaluating)


def _is_the_same(optimizer: Optimizer, before: Optimizer) -> bool:
    """Does it have the same parameters? Where nobody knows them, each call makes its own."""
    if optimizer.keys != before.keys:
        return False
    one, other = optimizer.made_at, before.made_at
    called_twice = one != other and (one.path, one.line) == (other.path, other.line)
    return optimizer.keys is not None or not called_twice


def _line_apart(one: Place, other: Place) -> int:
    """The line by which one of two places is told from the other: its own, or that of its call."""
    while one.line == other.line and one.via is not None and other.via is not None:
        one, other = one.via, other.via
    return one.line


def _takes_over(optimizer: Optimizer, before: Optimizer, reached: frozenset[str]) -> bool:
    """Is it made once more by the same code, for another net, which has no gradients yet?"""
    keys = optimizer.keys or frozenset()
    return optimizer.name == before.name and keys != before.keys and not keys & reached
