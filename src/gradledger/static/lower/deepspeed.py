"""DeepSpeed, and other engines that clear and step by themselves."""

from __future__ import annotations

from gradledger.ledger.values import replace
from gradledger.static.domain.values import PLAIN, UNKNOWN, Known, Thing
from gradledger.static.ir.effects import Deposits
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.scope_names import note_unknown
from gradledger.static.lower.unknown_calls import arguments_of
from gradledger.static.lower.window_weights import by_window
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def deepspeed_made(
    machine: Machine, dotted: str, arguments: Arguments, node: ast.Call
) -> Known | None:
    """What DeepSpeed gives, and the Stepper of gradledger: an engine that owns the cycle."""
    return Thing(built=dotted) if dotted.startswith(("deepspeed", "gradledger")) else None


def deepspeed_call(machine: Machine, thing: Thing, name: str, node: ast.Call) -> Known | None:
    """Calls a method of an engine, which does what it does by its own rules."""
    if not thing.built.startswith("deepspeed"):
        return None
    arguments_of(machine, node)
    return UNKNOWN


def engine_backward(machine: Machine, engine: Thing, loss: Thing, node: ast.Call) -> Known | None:
    """`engine.backward(loss)`: an engine clears and steps by itself."""
    if not engine.built.startswith(("gradledger", "deepspeed")):
        note_unknown(machine, node, f"{engine.key or 'an engine'} owns the cycle")
    elif engine.built.startswith("deepspeed") and by_window(machine, loss.weight):
        weight = replace(loss.weight, framework_divides=True)
        machine.emit(Deposits(machine.at(node), weight=weight))
    return PLAIN
