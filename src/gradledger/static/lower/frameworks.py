"""Who else owns the cycle: what frameworks clear, divide, scale and step, and when."""

from __future__ import annotations

from collections.abc import Callable

from gradledger.ledger.events import Update, Weight
from gradledger.ledger.values import replace
from gradledger.static.domain.scopes import LoopState
from gradledger.static.domain.values import (
    PLAIN,
    UNKNOWN,
    Count,
    FunctionDef,
    Items,
    Known,
    Optimizer,
    Scheduler,
    Thing,
    optimizers_in,
)
from gradledger.static.ir.blocks import acts
from gradledger.static.ir.effects import Clips, Deposits, Unscales
from gradledger.static.ir.program import Loop, Tick
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.attributes import bases_outside, member, method_of
from gradledger.static.lower.backward_calls import deposit
from gradledger.static.lower.gradient_functions import clip
from gradledger.static.lower.inline import call_function
from gradledger.static.lower.loop_rounds import write_rounds
from gradledger.static.lower.optimizer_calls import as_optimizer
from gradledger.static.lower.roles import is_accelerator
from gradledger.static.lower.scope_names import note_unknown
from gradledger.static.lower.statements import end_epochs
from gradledger.static.lower.unknown_calls import arguments_of
from gradledger.static.lower.value_names import register
from gradledger.static.models import facts
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern
from gradledger.static.source.vocabulary import WINDOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

APEX = "amp"
"""The scaler that apex keeps to itself."""


def framework_call(machine: Machine, thing: Thing, name: str, node: ast.Call) -> Known | None:
    """Calls of objects that frameworks give."""
    if is_accelerator(thing) or _is_fabric(thing):
        return _accelerator_method(machine, thing, name, node)
    if thing.cls is not None and is_lightning(machine, thing):
        return _lightning_method(machine, thing, name, node)
    if thing.built.startswith("deepspeed"):
        arguments_of(machine, node)
        return UNKNOWN
    return None


def framework_made(
    machine: Machine, dotted: str, arguments: Arguments, node: ast.Call
) -> Known | None:
    """What a framework's function gives."""
    name = facts.last(dotted)
    if dotted.startswith(("deepspeed", "gradledger")):
        return Thing(built=dotted)
    if name == "Accelerator":
        return Thing(built=f"accelerate.{_kind_of_accelerator(arguments)}")
    if name == "Fabric":
        return Thing(built="lightning.fabric.Fabric")
    if name == "Engine" and isinstance(arguments.get(0, "process_function"), FunctionDef):
        function = arguments.get(0, "process_function")
        assert isinstance(function, FunctionDef)
        repeat(machine, function, node)
        return Thing(built=dotted)
    if dotted.endswith("amp.initialize"):
        pair = list(arguments.positional[:2])
        pair += [arguments.named[w] for w in ("models", "optimizers") if w in arguments.named]
        return Items(tuple(pair)) if len(pair) > 1 else (pair[0] if pair else None)
    if dotted.endswith("amp.master_params"):
        first = arguments.get(0, "optimizer")
        return (
            member(machine, first, "param_groups", node)
            if isinstance(first, Optimizer)
            else UNKNOWN
        )
    return None


def repeat(
    machine: Machine,
    function: FunctionDef,
    node: ast.AST,
    *,
    counter: str = "",
    rounds: int | None = None,
    root: bool = False,
) -> None:
    """A function that a framework calls for each batch, epoch by epoch."""
    machine.log.numbered += 1
    loop = LoopState(f"loop {getattr(node, 'lineno', 0)}#{machine.log.numbered}")
    given: dict[str, Known] = {counter: Count(loop.id)} if counter else {}

    def call() -> None:
        call_function(machine, function, Arguments((), given), node, root=root)

    with machine.within(loops=(*machine.context.loops, loop)):
        body = machine.block(call)
    if not acts(body):
        return

    def epoch() -> None:
        with machine.within(ended=[]):
            write_rounds(machine, body, loop, machine.at(node), rounds=rounds)
            end_epochs(machine)

    machine.out.append(Loop(machine.block(epoch)))


# Accelerate and Fabric


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
        if not _by_window(machine, weight):
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


def engine_backward(machine: Machine, engine: Thing, loss: Thing, node: ast.Call) -> Known:
    """`engine.backward(loss)`, of an accelerator, a Fabric, a LightningModule or another engine."""
    if is_accelerator(engine) or _is_fabric(engine):
        return _accelerated_backward(machine, engine, node)
    if is_lightning(machine, engine) or engine.key.endswith("scaler"):
        deposit(machine, loss, node)
        return PLAIN
    if engine.built.startswith(("gradledger", "deepspeed")):
        return PLAIN  # it clears and steps by itself, by its own rules
    # An engine of DeepSpeed or of the project's own: it clears and steps by itself.
    note_unknown(machine, node, f"{engine.key or 'an engine'} owns the cycle")
    return PLAIN


# Lightning


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


# apex


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

    def leave() -> None:
        for name in names:
            machine.emit(Unscales(machine.at(call), optimizer=name, scaler=APEX))
        if names:
            machine.emit(Update(machine.at(call), APEX))

    after.append(leave)


def _by_window(machine: Machine, weight: Weight) -> bool:
    """Is it divided by the number of micro-batches in a window?"""
    if isinstance(weight.divisor, str):
        return bool(WINDOW.search(weight.divisor))
    if weight.divisor in (None, 1) or weight.divided_at is None:
        return False
    module = machine.context.scope.module
    if weight.divided_at.path != module.path:
        return False
    size = f"{weight.divisor:g}"
    given = Pattern(rf"(accumulate_grad_batches|gradient_accumulation_steps)\s*=\s*{size}\b")
    line = module.lines[weight.divided_at.line - 1]
    return bool(WINDOW.search(line) or given.search(module.source))


# What hooks return


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
    if (lightning or trainer) and _by_window(machine, value.weight) and not machine.log.backwards:
        weight = replace(value.weight, framework_divides=True)
        machine.emit(Deposits(machine.at(node), weight=weight))


def _prepared(value: Known) -> Known:
    """A scheduler that moves when its optimizer does."""
    return replace(value, prepared=True) if isinstance(value, Scheduler) else value


def _is_fabric(thing: Thing) -> bool:
    return (
        thing.built.endswith(".Fabric")
        or thing.key.rpartition(".")[2].rpartition(":")[2] == "fabric"
    )


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


def _kind_of_accelerator(arguments: Arguments) -> str:
    """Does it divide by a window, does it not, or does somebody else say so?"""
    given = arguments.named.keys()
    if given & {"gradient_accumulation_steps", "gradient_accumulation_plugin"}:
        return "Accumulating"
    return "Configured" if "**" in given else "Plain"
