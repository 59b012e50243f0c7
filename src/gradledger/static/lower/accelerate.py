"""Accelerate and Fabric: who divides by the window, and whose optimizers act at its end."""

from __future__ import annotations

from collections.abc import Callable

from gradledger.ledger.values import replace
from gradledger.static.domain.values import PLAIN, UNKNOWN, Items, Known, Scheduler, Thing
from gradledger.static.ir.program import Tick
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.backward_calls import deposit
from gradledger.static.lower.gradient_functions import clip
from gradledger.static.lower.roles import is_accelerator
from gradledger.static.lower.unknown_calls import arguments_of
from gradledger.static.lower.window_weights import by_window
from gradledger.static.models import facts
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def accelerator_call(machine: Machine, thing: Thing, name: str, node: ast.Call) -> Known | None:
    """Calls a method of an Accelerator or a Fabric."""
    if not (is_accelerator(thing) or _is_fabric(thing)):
        return None
    return _accelerator_method(machine, thing, name, node)


def accelerator_made(
    machine: Machine, dotted: str, arguments: Arguments, node: ast.Call
) -> Known | None:
    """`Accelerator(…)` and `Fabric(…)`."""
    name = facts.last(dotted)
    if name == "Accelerator":
        told = arguments.named.get("gradient_accumulation_steps")
        machine.log.windows += [] if told is None else [told]
        return Thing(built=f"accelerate.{_kind_of_accelerator(arguments)}")
    return Thing(built="lightning.fabric.Fabric") if name == "Fabric" else None


def accelerator_backward(
    machine: Machine, engine: Thing, loss: Thing, node: ast.Call
) -> Known | None:
    """`accelerator.backward(loss)`, `fabric.backward(loss)`."""
    if not (is_accelerator(engine) or _is_fabric(engine)):
        return None
    return _accelerated_backward(machine, engine, node)


def _accelerator_method(machine: Machine, thing: Thing, name: str, node: ast.Call) -> Known | None:
    if name == "backward":
        return _accelerated_backward(machine, thing, node)
    if name in ("prepare", "setup", "setup_module", "setup_optimizers", "setup_dataloaders"):
        values = tuple(map(_prepared, arguments_of(machine, node).positional))
        return values[0] if len(values) == 1 else Items(values)
    if name in ("prepare_model", "prepare_optimizer", "unwrap_model"):
        return arguments_of(machine, node).get(0, "model") or UNKNOWN
    if name.startswith("clip_grad"):
        clip(machine, arguments_of(machine, node), node)
        return PLAIN
    if name in (
        "autocast",
        "print",
        "log",
        "save_state",
        "wait_for_everyone",
        "save",
        "gather",
    ):
        arguments_of(machine, node)
        return PLAIN
    return None


def _accelerated_backward(machine: Machine, thing: Thing, node: ast.Call) -> Known:
    loss = arguments_of(machine, node).get(0, "loss") or UNKNOWN
    weight = loss.weight if isinstance(loss, Thing) else None
    divides = bool(machine.context.accumulating) or thing.built == "accelerate.Accumulating"
    if weight is not None and divides:
        counted = replace(weight, framework_divides=True)
        if not by_window(machine, weight):
            counted = replace(counted, divisor=None)
        deposit(machine, loss, node, weight=counted)
    elif weight is not None and thing.built == "accelerate.Configured":
        deposit(machine, loss, node, weight=replace(weight, divisor=None))
    else:
        deposit(machine, loss, node)
    return PLAIN


def accumulate(
    machine: Machine, call: ast.Call, item: ast.withitem, after: list[Callable[[], None]]
) -> None:
    """`with accelerator.accumulate(model)`: its optimizers act at a window's end alone."""
    owner = machine.eval(call.func.value) if isinstance(call.func, ast.Attribute) else UNKNOWN
    key = owner.key if isinstance(owner, Thing) and owner.key else "accelerator"
    for argument in call.args:
        machine.eval(argument)
    if isinstance(owner, Thing) and owner.built == "accelerate.Plain":
        return  # its windows are of one micro-batch
    accumulating = f"{key}.sync_gradients"
    machine.context = replace(machine.context, accumulating=accumulating)
    machine.out.append(Tick(f"{accumulating} before", accumulating))


def _prepared(value: Known) -> Known:
    """A scheduler that moves when its optimizer does."""
    return replace(value, prepared=True) if isinstance(value, Scheduler) else value


def _is_fabric(thing: Thing) -> bool:
    return (
        thing.built.endswith(".Fabric")
        or thing.key.rpartition(".")[2].rpartition(":")[2] == "fabric"
    )


def _kind_of_accelerator(arguments: Arguments) -> str:
    """Does it divide by a window, does it not, or does somebody else say so?"""
    given = arguments.named.keys()
    if given & {"gradient_accumulation_steps", "gradient_accumulation_plugin"}:
        return "Accumulating"
    return "Configured" if "**" in given else "Plain"
