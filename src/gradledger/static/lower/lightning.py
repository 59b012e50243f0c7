"""Lightning and the Trainer of transformers: manual optimization, and what their hooks return."""

from __future__ import annotations

from gradledger.ledger.values import replace
from gradledger.static.domain.contents import optimizers_in
from gradledger.static.domain.values import (
    PLAIN,
    UNKNOWN,
    Items,
    Known,
    Optimizer,
    Scheduler,
    Thing,
)
from gradledger.static.ir.effects import Clips, Deposits
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.attributes import bases_outside, method_of
from gradledger.static.lower.backward_calls import deposit
from gradledger.static.lower.inline import call_function
from gradledger.static.lower.unknown_calls import arguments_of
from gradledger.static.lower.value_names import register
from gradledger.static.lower.window_weights import by_window
from gradledger.static.models import facts
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def lightning_call(machine: Machine, thing: Thing, name: str, node: ast.Call) -> Known | None:
    """Calls a method that a LightningModule inherits."""
    if thing.cls is None or not is_lightning(machine, thing):
        return None
    return _lightning_method(machine, thing, name, node)


def lightning_backward(
    machine: Machine, engine: Thing, loss: Thing, node: ast.Call
) -> Known | None:
    """`self.backward(loss)` of a LightningModule, or of a scaler of the project's own."""
    if not (is_lightning(machine, engine) or engine.key.endswith("scaler")):
        return None
    deposit(machine, loss, node)
    return PLAIN


def is_lightning(machine: Machine, thing: Thing) -> bool:
    """Is it a LightningModule?"""
    return thing.cls is not None and any(
        "LightningModule" in base for base in bases_outside(machine, thing.cls)
    )


def _lightning_method(machine: Machine, thing: Thing, name: str, node: ast.Call) -> Known | None:
    if name == "manual_backward":
        arguments = arguments_of(machine, node)
        rest = Arguments((), arguments.named)
        deposit(machine, arguments.get(0, "loss") or UNKNOWN, node, rest)
        return PLAIN
    if name == "optimizers":
        return _configured(machine, thing, node)
    if name == "lr_schedulers":
        _configured(machine, thing, node)
        return machine.flow.store.get(f"{thing.key}.<schedulers>", UNKNOWN)
    if name == "toggle_optimizer":
        chosen = optimizers_in(Items(arguments_of(machine, node).positional))
        keep = frozenset(k for o in chosen for k in o.keys or ())
        every = frozenset(k for o in machine.log.optimizers.values() for k in o.keys or ())
        machine.flow = replace(machine.flow, frozen=machine.flow.frozen | (every - keep))
        return PLAIN
    if name == "untoggle_optimizer":
        arguments_of(machine, node)
        every = frozenset(k for o in machine.log.optimizers.values() for k in o.keys or ())
        machine.flow = replace(machine.flow, frozen=machine.flow.frozen - every)
        return PLAIN
    if name == "clip_gradients":
        first = arguments_of(machine, node).get(0, "optimizer")
        if isinstance(first, Optimizer):
            machine.emit(Clips(machine.at(node), optimizer=first.name))
        return PLAIN
    if name in ("log", "log_dict", "print"):
        arguments_of(machine, node)
        return PLAIN
    return None


def _configured(machine: Machine, thing: Thing, node: ast.Call) -> Known:
    """The optimizers that `configure_optimizers` returns, in its order."""
    known = machine.flow.store.get(f"{thing.key}.<optimizers>")
    if known is not None:
        return known
    method = method_of(machine, thing.cls, "configure_optimizers") if thing.cls else None
    value: Known = UNKNOWN
    if method is not None:
        outer, machine.out = machine.out, []
        value = call_function(machine, replace(method, bound=thing), Arguments(), node)
        machine.out = outer
    schedulers = tuple(_only_schedulers(value))
    if schedulers:
        every: Known = schedulers[0] if len(schedulers) == 1 else Items(schedulers)
        machine.set(f"{thing.key}.<schedulers>", every)
    found = _only_optimizers(value)
    made = tuple(
        register(machine, replace(o, name=o.name or f"optimizer {i}", outside=True))
        for i, o in enumerate(found)
    )
    result: Known = made[0] if len(made) == 1 else Items(made) if made else UNKNOWN
    machine.set(f"{thing.key}.<optimizers>", result)
    return result


def returned(machine: Machine, value: Known, node: ast.Return) -> None:
    """A LightningModule's loss is divided by Lightning, a Trainer's by the Trainer."""
    if isinstance(node.value, ast.IfExp):
        value = machine.eval(node.value.orelse)  # `(loss, outputs) if return_outputs else loss`
    if isinstance(value, Items) and value.values:
        value = value.values[0]
    scope = machine.context.scope
    name = getattr(scope.node, "name", "")
    if name not in ("training_step", "compute_loss") or not isinstance(value, Thing):
        return
    owner = scope.self_value
    if not isinstance(owner, Thing) or owner.cls is None:
        return
    bases = bases_outside(machine, owner.cls)
    lightning = name == "training_step" and any("LightningModule" in b for b in bases)
    trainer = name == "compute_loss" and any(facts.last(b).endswith("Trainer") for b in bases)
    if (lightning or trainer) and by_window(machine, value.weight) and not machine.log.backwards:
        weight = replace(value.weight, framework_divides=True)
        machine.emit(Deposits(machine.at(node), weight=weight))


def _only_schedulers(value: Known) -> list[Scheduler]:
    """The schedulers in what `configure_optimizers` returns, in order."""
    if isinstance(value, Scheduler):
        return [replace(value, name=value.name or "the scheduler")]
    if isinstance(value, Items):
        return [found for item in value.values for found in _only_schedulers(item)]
    return []


def _only_optimizers(value: Known) -> list[Optimizer]:
    """The optimizers in what `configure_optimizers` returns, in order."""
    found: list[Optimizer] = []
    match value:
        case Optimizer():
            found.append(value)
        case Items(values=values, names=names):
            if names:
                for key, item in zip(names, values, strict=False):
                    if key == "optimizer":
                        found += _only_optimizers(item)
            else:
                for item in values:
                    if not isinstance(item, Scheduler):
                        found += _only_optimizers(item)
    return found
