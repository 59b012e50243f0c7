"""Calls, by what is called."""

from __future__ import annotations

from gradledger.ledger.values import replace
from gradledger.static.domain.values import (
    NONE,
    PLAIN,
    UNKNOWN,
    ClassDef,
    Constant,
    External,
    FunctionDef,
    Gradients,
    Imported,
    Items,
    Known,
    Optimizer,
    Parameters,
    Scaler,
    Scheduler,
    Thing,
)
from gradledger.static.lower.attributes import member, method_of
from gradledger.static.lower.gradient_calls import gradients_method, parameters_method
from gradledger.static.lower.inline import call_function, make_object
from gradledger.static.lower.item_calls import items_method
from gradledger.static.lower.library_calls import call_external
from gradledger.static.lower.module_calls import call_object
from gradledger.static.lower.optimizer_calls import (
    optimizer_method,
    scaler_method,
    scheduler_method,
)
from gradledger.static.lower.optimizer_classes import make_optimizer, only_steps, schedule_of
from gradledger.static.lower.roles import with_role
from gradledger.static.lower.tensor_calls import object_method
from gradledger.static.lower.unknown_calls import arguments_of, call_unknown, watch_unknown_call
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def eval_call(machine: Machine, node: ast.Call) -> Known:
    """What the call gives; its effects are written down on the way."""
    func = node.func
    if isinstance(func, ast.Attribute):
        if _is_super(func.value):
            return _call_super(machine, func.attr, node)
        base = machine.eval(func.value)
        return _call_method(machine, base, func.attr, node)
    return machine.call(machine.eval(func), node)


def call_value(machine: Machine, callee: Known, node: ast.Call) -> Known:
    """Calls a value."""
    match callee:
        case External(dotted):
            return call_external(machine, dotted, node)
        case FunctionDef():
            return call_function(machine, callee, arguments_of(machine, node), node)
        case ClassDef():
            arguments = arguments_of(machine, node)
            if only_steps(machine, callee):
                name = callee.node.name
                return make_optimizer(machine, name, name, arguments, node)
            schedule = schedule_of(machine, callee, arguments, node)
            return schedule or make_object(machine, callee, arguments, node)
        case Thing() | Scaler():
            for handler in machine.libraries.called:
                if (made := handler(machine, callee, node)) is not None:
                    return made
            if isinstance(callee, Thing):
                return call_object(machine, callee, node)
            return call_unknown(machine, "", arguments_of(machine, node), node)
        case Parameters() | Gradients() | Imported():
            arguments_of(machine, node)
            return UNKNOWN
        case _:
            return call_unknown(machine, "", arguments_of(machine, node), node)


def _call_method(machine: Machine, base: Known, name: str, node: ast.Call) -> Known:
    base = with_role(machine, base, name, node)
    match base:
        case Optimizer():
            return optimizer_method(machine, base, name, node)
        case Scaler():
            return scaler_method(machine, base, name, node)
        case Scheduler():
            return scheduler_method(machine, base, name, node)
        case Parameters():
            return parameters_method(machine, base, name, node)
        case Gradients():
            return gradients_method(machine, base, name, node)
        case Items():
            return items_method(machine, base, name, node)
        case Thing():
            return object_method(machine, base, name, node)
        case External(dotted):
            return call_external(machine, f"{dotted}.{name}", node)
        case Constant():
            arguments = arguments_of(machine, node)
            if base == NONE:
                # Given later, by code that is out of sight.
                watch_unknown_call(machine, name, None, arguments, node, anybody=True)
            return PLAIN
        case _:
            return machine.call(member(machine, base, name, node), node)


def _call_super(machine: Machine, name: str, node: ast.Call) -> Known:
    scope = machine.context.scope
    arguments = arguments_of(machine, node)
    if isinstance(scope.cls, ClassDef) and isinstance(scope.self_value, Thing):
        start = scope.self_value.cls or scope.cls
        method = method_of(machine, start, name, after=scope.cls)
        if method is not None:
            return call_function(machine, replace(method, bound=scope.self_value), arguments, node)
        if name != "__init__":
            watch_unknown_call(machine, f"super.{name}", scope.self_value, arguments, node)
    return UNKNOWN


def _is_super(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )
