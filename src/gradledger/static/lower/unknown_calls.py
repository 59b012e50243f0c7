"""Code that cannot be followed, and what it may get hold of."""

from __future__ import annotations

from gradledger.ledger.values import replace
from gradledger.static.domain.contents import optimizers_in
from gradledger.static.domain.values import (
    Constant,
    Items,
    Known,
    Optimizer,
    Parameters,
    Thing,
    reach_of,
)
from gradledger.static.ir.effects import Edits, Excuses, HandsOver
from gradledger.static.ir.keys import NO_KEYS, within
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.arithmetic import computed, used
from gradledger.static.lower.attributes import is_model
from gradledger.static.lower.scope_names import note_unknown
from gradledger.static.lower.unfollowed_calls import may_thaw
from gradledger.static.models import facts
from gradledger.static.models.torch_optim import leaves_optimizers_alone
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

HARMLESS = ("torch.", "builtins.", "copy.")
"""Whose functions leave a net as it is: `print(net)`, `torch.save(net, path)`."""


def arguments_of(machine: Machine, node: ast.Call) -> Arguments:
    """The values that a call hands over."""
    positional: list[Known] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            value = machine.eval(argument.value)
            positional += value.values if isinstance(value, Items) else (value,)
        else:
            positional.append(used(machine, argument))
    named = {k.arg or "**": used(machine, k.value) for k in node.keywords}
    return Arguments(tuple(positional), named)


def call_unknown(machine: Machine, name: str, arguments: Arguments, node: ast.AST) -> Known:
    """The result of a call that cannot be followed."""
    watch_unknown_call(machine, name, None, arguments, node)
    made = computed(machine, *arguments.values(), sure=False)
    return made if not made.plain or not name else Thing()


def watch_unknown_call(
    machine: Machine,
    name: str,
    owner: Thing | None,
    arguments: Arguments,
    node: ast.AST,
    *,
    anybody: bool = False,
) -> None:
    """Takes note where code that cannot be followed gets hold of gradients."""
    short = facts.last(name)
    called = owner is not None and owner.key == name  # a net, which gets data
    if not called and not name.startswith(HARMLESS):
        may_thaw(machine, [*([owner] if owner is not None else ()), *arguments.values()], node)
        for value in arguments.values():
            machine.log.given_away |= reach_of(value)
    if facts.attacks(short) or (anybody and facts.is_suspicious(short)):
        machine.emit(HandsOver(machine.at(node)))
        note_unknown(machine, node, f"{short}() cannot be followed")
        return
    handed = [o for v in arguments.values() for o in optimizers_in(v) if o.name]
    if handed and not leaves_optimizers_alone(short):
        for optimizer in handed:
            hand_over(machine, optimizer.name, node, f"{short}()")
    elif owner is not None and owner.key and facts.is_suspicious(short):
        held = optimizers_of(machine, owner.key) if machine.log.optimizers else NO_KEYS
        for optimizer in machine.log.optimizers.values():
            parts = [key for key in optimizer.keys or () if within(key, owner.key)]
            if (parts and short in facts.LEARNING) or optimizer.name in held:
                hand_over(machine, optimizer.name, node, f"{short}()")
    elif (
        facts.is_suspicious(short)
        and not name.startswith("torch.")
        and not machine.project.knows_no_gradients(machine.context.scope.module, name)
    ):
        models = NO_KEYS.union(*map(reach_of, arguments.values()))
        for optimizer in machine.log.optimizers.values():
            if optimizer.keys and models & optimizer.keys and "loss" not in short.lower():
                hand_over(machine, optimizer.name, node, f"{short}()")
    for value in arguments.values():
        if isinstance(value, Parameters):
            # It may look at their gradients: whoever drops these later, drops what was read.
            machine.emit(Excuses(machine.at(node), value.keys))


def optimizers_of(machine: Machine, key: str) -> frozenset[str]:
    """The names of the optimizers that the object that the key names has as attributes."""
    start = f"{key}."
    return frozenset(
        value.name
        for name, value in machine.flow.store.items()
        if type(value) is Optimizer and name.startswith(start)  # nearly no value is one
    )


def hand_over(machine: Machine, optimizer: str, node: ast.AST, what: str) -> None:
    """Gradients are in the hands of code that cannot be followed."""
    machine.emit(HandsOver(machine.at(node), optimizer=optimizer))
    note_unknown(machine, node, f"{what} cannot be followed, and gets {optimizer}")


def keys_named(machine: Machine, thing: Thing) -> frozenset[str]:
    """A model by its own key, and by those of the models that it was made of or holds."""
    keys = {thing.key} if thing.key else set()
    if not thing.sure:
        keys |= {k for k in thing.reach if is_model(machine, k)} if thing.key else thing.reach
    starts = tuple(f"{key}." for key in keys)
    for name, value in machine.flow.store.items() if starts else ():
        if not name.startswith(starts) or not isinstance(value, Thing) or value.plain:
            continue
        if value.key not in ("", name) and not any(s.startswith(value.key) for s in starts):
            keys.add(value.key)
    return frozenset(keys)


def freeze(machine: Machine, keys: frozenset[str], value: Known) -> None:
    """`requires_grad` is set for what these keys name."""
    flow = machine.flow
    frozen_if = frozenset(f for f in flow.frozen_if if not _concerns(f[0], keys))
    half_frozen = frozenset(k for k in flow.half_frozen if not _concerns(k, keys))
    frozen = flow.frozen
    if isinstance(value, Constant):
        if value.value:
            # What is frozen but for a part is not frozen.
            frozen = frozenset(k for k in frozen if not _concerns(k, keys))
        else:
            frozen |= keys
            machine.log.ever_frozen |= keys
    machine.flow = replace(flow, frozen=frozen, half_frozen=half_frozen, frozen_if=frozen_if)


def put_back(machine: Machine, keys: frozenset[str], node: ast.AST) -> None:
    """Parameters get other values: what an optimizer has made of their gradients is undone."""
    undone = frozenset(k for k in keys if any(within(r, k) for r in machine.log.reached))
    if undone:
        machine.emit(Edits(machine.at(node), undone))


def reads_gradient(machine: Machine, node: ast.AST) -> bool:
    """Is there a `.grad` in what is being computed?"""
    if "grad" not in machine.context.scope.module.text(node):
        return False
    return any(
        isinstance(inner, ast.Attribute) and inner.attr in facts.GRADIENT
        for inner in ast.walk(node)
    )


def _concerns(key: str, keys: frozenset[str]) -> bool:
    """Is it one of these, a part of one, or has it one in it?"""
    return any(within(key, k) or within(k, key) for k in keys)
