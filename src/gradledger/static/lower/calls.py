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
from gradledger.static.lower.library_calls import OutsideCalls
from gradledger.static.source import syntax as ast


class Calls(OutsideCalls):
    """Finds out what is called, and leaves the rest to those who know it."""

    def call(self, node: ast.Call) -> Known:
        """What the call gives; its effects are written down on the way."""
        func = node.func
        if isinstance(func, ast.Attribute):
            if _is_super(func.value):
                return self._call_super(func.attr, node)
            base = self.eval(func.value)
            return self._call_method(base, func.attr, node)
        return self.call_value(self.eval(func), node)

    def call_value(self, callee: Known, node: ast.Call) -> Known:
        """Calls a value."""
        match callee:
            case External(dotted):
                return self._call_external(dotted, node)
            case FunctionDef():
                return self.call_function(callee, self.arguments(node), node)
            case ClassDef():
                arguments = self.arguments(node)
                if self.only_steps(callee):
                    name = callee.node.name
                    return self._optimizer(name, name, arguments, node)
                schedule = self.schedule_of(callee, arguments, node)
                return schedule or self.instantiate(callee, arguments, node)
            case Thing():
                return self._call_thing(callee, node)
            case Parameters() | Gradients() | Imported():
                self.arguments(node)
                return UNKNOWN
            case _:
                return self.opaque("", self.arguments(node), node)

    def _call_method(self, base: Known, name: str, node: ast.Call) -> Known:
        base = self.with_role(base, name, node)
        match base:
            case Optimizer():
                return self._of_optimizer(base, name, node)
            case Scaler():
                return self._of_scaler(base, name, node)
            case Scheduler():
                return self._of_scheduler(base, name, node)
            case Parameters():
                return self._of_parameters(base, name, node)
            case Gradients():
                return self._of_gradients(base, name, node)
            case Items():
                return self._of_items(base, name, node)
            case Thing():
                return self._of_tensor_or_object(base, name, node)
            case External(dotted):
                return self._call_external(f"{dotted}.{name}", node)
            case Constant():
                arguments = self.arguments(node)
                if base == NONE:
                    # Given later, by code that is out of sight.
                    self.watch_strangers(name, None, arguments, node, anybody=True)
                return PLAIN
            case _:
                return self.call_value(self.member(base, name, node), node)

    def _call_super(self, name: str, node: ast.Call) -> Known:
        scope = self.scope
        arguments = self.arguments(node)
        if isinstance(scope.cls, ClassDef) and isinstance(scope.self_value, Thing):
            start = scope.self_value.cls or scope.cls
            method = self.method(start, name, after=scope.cls)
            if method is not None:
                return self.call_function(replace(method, bound=scope.self_value), arguments, node)
            if name != "__init__":
                self.watch_strangers(f"super.{name}", scope.self_value, arguments, node)
        return UNKNOWN


def _is_super(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
    )
