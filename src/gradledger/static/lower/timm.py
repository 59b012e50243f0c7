"""timm: a scaler that is called with a loss and an optimizer, and does the whole update."""

from __future__ import annotations

from gradledger.ledger.events import Update
from gradledger.ledger.values import replace
from gradledger.static.domain.values import NONE, PLAIN, UNKNOWN, Constant, Known, Scaler, Thing
from gradledger.static.ir.effects import Unscales
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.backward_calls import deposit
from gradledger.static.lower.branches import chosen
from gradledger.static.lower.gradient_functions import clip
from gradledger.static.lower.optimizer_calls import as_optimizer, spend
from gradledger.static.lower.roles import bind_role
from gradledger.static.lower.spelling import last_name
from gradledger.static.lower.unknown_calls import arguments_of
from gradledger.static.models import facts
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.domain.values import Optimizer
    from gradledger.static.lower.machine import Machine

UPDATES = ("need_update", "update_grad")
"""The option that says whether to step: timm's, and that of many a copy (BEiT, MAE, Swin)."""


def timm_made(machine: Machine, dotted: str, arguments: Arguments, node: ast.Call) -> Known | None:
    """`NativeScaler()`; and `ApexScaler()`, whose losses and gradients apex scales by itself."""
    if not dotted.startswith("timm."):
        return None
    name = facts.last(dotted)
    return Scaler("", enabled=name == "NativeScaler") if name.endswith("Scaler") else None


def timm_called(machine: Machine, callee: Known, node: ast.Call) -> Known | None:
    """`loss_scaler(loss, optimizer, …)`: scale, backward, unscale and clip, step, update.

    A scaler that nobody has made in sight is taken for one by its name and what it is given.
    """
    given = _optimizer_given(node)
    if given is None or not _may_be_scaler(callee, node):
        return None
    arguments = arguments_of(machine, node)
    optimizer = as_optimizer(machine, arguments.get(1, "optimizer"), given)
    if optimizer is None:
        return None
    if isinstance(callee, Thing):
        callee = bind_role(machine, callee.key, Scaler("", is_option=True), node.func)
    assert isinstance(callee, Scaler)
    _update(machine, callee, optimizer, arguments, node)
    return PLAIN


def _optimizer_given(node: ast.Call) -> ast.expr | None:
    """What stands in the place of the optimizer, beside a loss."""
    named = {k.arg: k.value for k in node.keywords if k.arg}
    given = [*node.args, *(named[name] for name in ("loss", "optimizer") if name in named)]
    return given[1] if len(given) > 1 else None


def _may_be_scaler(callee: Known, node: ast.Call) -> bool:
    if isinstance(callee, Scaler):
        return True
    unknown = isinstance(callee, Thing) and bool(callee.key) and callee.cls is None
    return unknown and last_name(node.func).endswith("scaler")


def _update(
    machine: Machine, scaler: Scaler, optimizer: Optimizer, arguments: Arguments, node: ast.Call
) -> None:
    loss = arguments.get(0, "loss") or UNKNOWN
    if isinstance(loss, Thing) and scaler.enabled:
        loss = replace(loss, scaler=scaler.name)
    again = arguments.named.get("create_graph") == Constant.of(True)
    graph: dict[str, Known] = {"create_graph": Constant.of(True)} if again else {}
    deposit(machine, loss, node, Arguments((), graph))

    def step() -> None:
        clips = arguments.get(2, "clip_grad") not in (None, NONE)
        if clips and scaler.enabled:
            machine.emit(Unscales(machine.at(node), optimizer=optimizer.name, scaler=scaler.name))
        if clips:
            clip(machine, Arguments((arguments.get(4, "parameters") or UNKNOWN,)), node)
        spend(machine, node, optimizer.name, scaler=scaler.name if scaler.enabled else None)
        if scaler.enabled:
            machine.emit(Update(machine.at(node), scaler.name, checks=True))

    option = next((k.value for k in node.keywords if k.arg in UPDATES), None)
    asked = True if option is None else machine.condition(option)
    if asked is True:
        step()
    elif asked is not False:
        then, orelse, _ = machine.both(step, lambda: None)
        machine.out.append(chosen(asked, then, orelse))
