"""What optimizers, scalers and schedulers do."""

from __future__ import annotations

from gradledger.ledger.events import Schedule, Update
from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    NONE,
    PLAIN,
    UNKNOWN,
    Constant,
    External,
    FunctionDef,
    Items,
    Known,
    Optimizer,
    Scaler,
    Scheduler,
    Thing,
    is_plain,
)
from gradledger.static.ir.effects import (
    Clears,
    Clips,
    Excuses,
    Reads,
    Resumes,
    Spends,
    Unscales,
)
from gradledger.static.ir.notes import OneOfMany, ScheduleCountsBatches, ScheduleWaits, StepHook
from gradledger.static.ir.program import NOTHING, Branch, Loop
from gradledger.static.lower.arguments import Arguments
from gradledger.static.lower.arithmetic import keys_of
from gradledger.static.lower.backward_calls import deposit
from gradledger.static.lower.call_graph import makes_deposits
from gradledger.static.lower.inline import call_function
from gradledger.static.lower.noting import note
from gradledger.static.lower.roles import bind_role, given_later, moves_a_rate
from gradledger.static.lower.unknown_calls import arguments_of, hand_over
from gradledger.static.lower.value_names import register
from gradledger.static.models.torch_optim import OPTIMIZER_HARMLESS
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern, literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def optimizer_method(machine: Machine, optimizer: Optimizer, name: str, node: ast.Call) -> Known:
    """Calls a method of an optimizer."""
    if name == "step":
        optimizer_step(machine, optimizer, node)
    elif name in ("zero_grad", "clear_grad", "reset_grad"):
        arguments = arguments_of(machine, node)
        to_none = arguments.get(0, "set_to_none")
        none = not (isinstance(to_none, Constant) and to_none.value is False)
        clear(machine, node, optimizer=optimizer.name, to_none=none)
    elif name == "first_step":
        # SAM: climbs by the gradients of the first pass, which are no update.
        machine.emit(Reads(machine.at(node), optimizer=optimizer.name))
        _clear_if_asked(machine, optimizer, node)
    elif name == "second_step":
        machine.emit(Spends(machine.at(node), optimizer=optimizer.name))
        _clear_if_asked(machine, optimizer, node)
    elif name == "add_param_group":
        keys = keys_of(machine, arguments_of(machine, node).get(0, "param_group") or UNKNOWN)
        if optimizer.keys is not None:
            register(machine, replace(optimizer, keys=optimizer.keys | keys))
    elif name == "load_state_dict":
        arguments_of(machine, node)
        machine.emit(Resumes(machine.at(node), optimizer=optimizer.name))
    elif name == "backward":  # fp16 wrappers of optimizers
        loss = arguments_of(machine, node).get(0, "loss") or UNKNOWN
        deposit(machine, loss, node)
    elif name in ("clip_master_grads", "clip_grad_norm"):
        arguments_of(machine, node)
        machine.emit(Clips(machine.at(node), optimizer=optimizer.name))
    elif name == "register_step_post_hook":
        arguments_of(machine, node)
        note(machine, StepHook, machine.at(node), optimizers=frozenset({optimizer.name}))
    elif name not in OPTIMIZER_HARMLESS and not name.startswith("get_"):
        arguments_of(machine, node)
        hand_over(machine, optimizer.name, node, f"{optimizer.name}.{name}()")
        return UNKNOWN
    else:
        arguments_of(machine, node)
    return PLAIN


def _clear_if_asked(machine: Machine, optimizer: Optimizer, node: ast.Call) -> None:
    asked = arguments_of(machine, node).get(0, "zero_grad")
    if isinstance(asked, Constant) and asked.value:
        clear(machine, node, optimizer=optimizer.name)


def optimizer_step(machine: Machine, optimizer: Optimizer, node: ast.Call) -> None:
    """`optimizer.step()`, with or without a closure."""
    arguments = arguments_of(machine, node)
    closure = arguments.get(0, "closure")
    if isinstance(closure, Thing | External) and not isinstance(closure, Constant):
        hand_over(machine, optimizer.name, node, "a closure that cannot be followed")
        return
    told = {n: v for n, v in arguments.named.items() if n not in ("closure", "**")}
    if not all(map(is_plain, told.values())):
        hand_over(machine, optimizer.name, node, "a step that is given a loss")
        return
    if not isinstance(closure, FunctionDef):
        spend(machine, node, optimizer.name)
        return
    another_kind = not optimizer.torchs or _also_steps_without(machine, node)
    if _takes_arguments(closure):
        hand_over(machine, optimizer.name, node, "a closure that is told what to do")
        return
    if another_kind and not makes_deposits(machine, closure):
        hand_over(machine, optimizer.name, node, "a step that differentiates by itself")
        return
    if another_kind:
        # It may look at what it finds first (SAM).
        machine.emit(Excuses(machine.at(node), optimizer=optimizer.name))

    def once() -> None:
        call_function(machine, closure, Arguments(), node)
        spend(machine, node, optimizer.name)

    block = machine.block(once)
    machine.out.append(Loop(block, at_least=1) if optimizer.closure_loops else block)


def _also_steps_without(machine: Machine, node: ast.Call) -> bool:
    """Does the function call the same `step` without a closure, too?"""
    module = machine.context.scope.module
    plain = Pattern(rf"(?<![\w.]){literal(ast.unparse(node.func))}\(\s*\)")
    return plain.search(module.text(machine.context.scope.node or module.tree)) is not None


def spend(machine: Machine, node: ast.AST, optimizer: str, *, scaler: str | None = None) -> None:
    """A step, if the framework around lets it happen."""
    _if_syncing(machine, Spends(machine.at(node), optimizer=optimizer, scaler=scaler))


def clear(machine: Machine, node: ast.AST, *, optimizer: str = "", to_none: bool = True) -> None:
    """A clear by an optimizer, if the framework around lets it happen."""
    _if_syncing(machine, Clears(machine.at(node), optimizer=optimizer, to_none=to_none))


def _if_syncing(machine: Machine, effect: Spends | Clears | Schedule) -> None:
    if not machine.context.accumulating:
        machine.emit(effect)
        return
    block = machine.block(lambda: machine.emit(effect))
    machine.out.append(Branch(block, NOTHING, machine.context.accumulating))


def scaler_method(machine: Machine, scaler: Scaler, name: str, node: ast.Call) -> Known:
    """Calls a method of a gradient scaler."""
    arguments = arguments_of(machine, node)
    first = arguments.get(0, "")
    if name == "scale":
        if isinstance(first, Items):
            values = tuple(_scaled(v, scaler) for v in first.values)
            return replace(first, values=values)
        return _scaled(first or UNKNOWN, scaler)
    optimizer = None
    given = [*node.args, *(k.value for k in node.keywords if k.arg == "optimizer")]
    if name in ("unscale_", "step") and given:
        optimizer = as_optimizer(machine, arguments.get(0, "optimizer"), given[0])
        if optimizer and optimizer.key.endswith("[*]") and not machine.context.each_once:
            note(machine, OneOfMany, machine.at(node), optimizers=frozenset({optimizer.name}))
    if name == "unscale_" and optimizer:
        if scaler.enabled:
            machine.emit(Unscales(machine.at(node), optimizer=optimizer.name, scaler=scaler.name))
    elif name == "step" and optimizer:
        spend(machine, node, optimizer.name, scaler=scaler.name if scaler.enabled else None)
    elif name == "update" and scaler.enabled:
        checks = not (node.args or node.keywords)  # a new scale needs no record
        machine.emit(Update(machine.at(node), scaler.name, checks))
    return PLAIN


def as_optimizer(machine: Machine, value: Known | None, node: ast.expr) -> Optimizer | None:
    """The value as an optimizer, if it can only be one."""
    if isinstance(value, Optimizer):
        return value
    if isinstance(value, Thing) and value.key and not value.plain:
        made = Optimizer("", None, machine.at(node), outside=True)
        bound = bind_role(machine, value.key, made, node)
        return bound if isinstance(bound, Optimizer) else None
    return given_later(machine, node) if value == NONE else None


def scheduler_method(machine: Machine, scheduler: Scheduler, name: str, node: ast.Call) -> Known:
    """Calls a method of a scheduler."""
    if name == "load_state_dict":  # as it was when its optimizer had stepped
        for optimizer in scheduler.optimizers:
            machine.emit(Resumes(machine.at(node), optimizer=optimizer))
    placed = arguments_of(machine, node).get(0, "epoch") is not None and not scheduler.by_metric
    # A schedule that is told its epoch skips no value, whenever it is told.
    if name == "step" and moves_a_rate(node) and not placed:
        if not scheduler.counts_updates:
            note(machine, ScheduleCountsBatches, machine.at(node))
        if len(scheduler.optimizers) > 1 or scheduler.by_metric or scheduler.perhaps:
            note(machine, ScheduleWaits, machine.at(node))
        for optimizer in scheduler.optimizers:
            event = Schedule(machine.at(node), scheduler.name, optimizer)
            if scheduler.prepared or scheduler.key:
                _if_syncing(machine, event)
            else:
                machine.emit(event)
    return PLAIN


def _scaled(value: Known, scaler: Scaler) -> Known:
    if isinstance(value, Thing) and scaler.enabled:
        return replace(value, scaler=scaler.name, key=value.key)
    return value


def _takes_arguments(closure: FunctionDef) -> bool:
    """`def closure(backward=False)`: whoever calls it says more than torch's optimizers do."""
    taken = closure.node.args
    own = [*taken.posonlyargs, *taken.args][len(closure.preset) :]
    return bool(own[1:] if closure.bound is not None else own) or bool(taken.kwonlyargs)
