"""apex: losses are scaled inside of a `with`, and gradients unscaled at its end."""

from __future__ import annotations

from collections.abc import Callable

from gradledger.ledger.events import Update
from gradledger.ledger.values import replace
from gradledger.static.domain.contents import optimizers_in
from gradledger.static.domain.values import UNKNOWN, Constant, Items, Known, Optimizer, Thing
from gradledger.static.ir.effects import Unscales
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.attributes import member
from gradledger.static.lower.optimizer_calls import as_optimizer
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


APEX = "amp"
"""The scaler that apex keeps to itself."""


def apex_made(machine: Machine, dotted: str, arguments: Arguments, node: ast.Call) -> Known | None:
    """`amp.initialize(model, optimizer)` and `amp.master_params(optimizer)`."""
    if dotted.endswith("amp.initialize"):
        pair = list(arguments.positional[:2])
        pair += [arguments.named[w] for w in ("models", "optimizers") if w in arguments.named]
        return Items(tuple(pair)) if len(pair) > 1 else (pair[0] if pair else None)
    if dotted.endswith("amp.master_params"):
        first = arguments.get(0, "optimizer")
        if not isinstance(first, Optimizer):
            return UNKNOWN
        return member(machine, first, "param_groups", node)
    return None


def apex_scaled_loss(
    machine: Machine, call: ast.Call, item: ast.withitem, after: list[Callable[[], None]]
) -> None:
    """`with amp.scale_loss(loss, optimizer) as scaled`: unscaled again at its end."""
    if not call.args:
        return
    loss = machine.eval(call.args[0])
    second = (
        call.args[1]
        if len(call.args) > 1
        else next((k.value for k in call.keywords if k.arg == "optimizers"), None)
    )
    given = machine.eval(second) if second is not None else UNKNOWN
    optimizer = as_optimizer(machine, given, second) if second is not None else None
    names = [o.name for o in optimizers_in(given)] or ([optimizer.name] if optimizer else [])
    if isinstance(loss, Thing) and names:
        loss = replace(loss, scaler=APEX, key="")
    if item.optional_vars is not None:
        machine.assign(item.optional_vars, loss)

    later = any(
        k.arg == "delay_unscale" and machine.eval(k.value) == Constant.of(True)
        for k in call.keywords
    )

    def leave() -> None:
        for name in () if later else names:
            machine.emit(Unscales(machine.at(call), optimizer=name, scaler=APEX, puts_aside=True))
        if names and not later:
            machine.emit(Update(machine.at(call), APEX))

    after.append(leave)
