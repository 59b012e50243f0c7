"""DeepSpeed, and other engines that clear and step by themselves."""

from __future__ import annotations

from gradledger.ledger.values import replace
from gradledger.static.domain.values import PLAIN, UNKNOWN, Known, Thing
from gradledger.static.ir.effects import Deposits
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.scope_names import file_uses, note_unknown
from gradledger.static.lower.unknown_calls import arguments_of
from gradledger.static.lower.window_weights import by_window
from gradledger.static.project.module import Import
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

STEPPER = "gradledger.Stepper"


def deepspeed_made(
    machine: Machine, dotted: str, arguments: Arguments, node: ast.Call
) -> Known | None:
    """What DeepSpeed gives, and the Stepper of gradledger: an engine that owns the cycle."""
    return Thing(built=dotted) if dotted.startswith(("deepspeed", "gradledger")) else None


def deepspeed_call(machine: Machine, thing: Thing, name: str, node: ast.Call) -> Known | None:
    """Calls a method of an engine, which does what it does by its own rules."""
    if thing.built == STEPPER and name == "run":
        machine.log.engine_calls |= {"backward", "step"}
        return None
    if not _is_deepspeeds(machine, thing):
        return None
    if name == "step":
        machine.log.engine_calls.add(name)
    arguments_of(machine, node)
    return UNKNOWN


def engine_trains(machine: Machine) -> bool:
    """True if a known engine was given a loss and told to step: it clears what it has spent."""
    return {"backward", "step"} <= machine.log.engine_calls


def engine_backward(machine: Machine, engine: Thing, loss: Thing, node: ast.Call) -> Known | None:
    """`engine.backward(loss)`: an engine clears and steps by itself."""
    own = _is_deepspeeds(machine, engine)
    if not (own or engine.built.startswith("gradledger")):
        note_unknown(machine, node, f"{engine.key or 'an engine'} owns the cycle")
        return PLAIN
    machine.log.engine_calls |= {"backward"} if own else {"backward", "step"}
    if own and by_window(machine, loss.weight):
        weight = replace(loss.weight, framework_divides=True)
        machine.emit(Deposits(machine.at(node), weight=weight))
    return PLAIN


def _is_deepspeeds(machine: Machine, thing: Thing) -> bool:
    """True if DeepSpeed made it; or nobody in sight did, and the file runs its backward and step.

    An optimizer has these two as well, and its own clear: `optimizer.backward(loss)` of fairseq.
    """
    if thing.built or thing.cls is not None or thing.leaf:
        return thing.built.startswith("deepspeed")
    name = thing.key.rpartition(".")[2].rpartition(":")[2]
    uses = file_uses(machine)
    if not {"backward", "step"} <= uses.of(name) or "zero_grad" in uses.of(name):
        return False
    definitions = machine.context.scope.module.definitions.values()
    return any(isinstance(d, Import) and d.module.startswith("deepspeed") for d in definitions)
