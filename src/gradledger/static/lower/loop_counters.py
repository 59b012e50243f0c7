"""Loops that have no end, and counters that go on from round to round."""

from __future__ import annotations

from gradledger.static.domain.scopes import LoopState
from gradledger.static.domain.values import Constant, Count, FunctionDef, Thing
from gradledger.static.lower.attributes import method_of
from gradledger.static.lower.function_text import goes_on_for_ever
from gradledger.static.lower.loop_shapes import (
    PASSING_ON,
    fails_in_time,
    is_enough,
    sets,
    stops_behind_a_step,
)
from gradledger.static.lower.names import full_name
from gradledger.static.lower.quiet_values import eval_quietly
from gradledger.static.lower.spelling import called_name
from gradledger.static.source import syntax as ast
from gradledger.static.source.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


COUNTS = Pattern(r"\+=\s*1\b")


def start_counters(
    machine: Machine, node: ast.For | ast.AsyncFor | ast.While, loop: LoopState
) -> None:
    """Names that count rounds: they start at a number, and each round adds one."""
    text = machine.context.scope.module.text(node)
    if "+=" not in text or not COUNTS.search(text):
        return
    for statement in node.body:
        for inner in (
            ast.walk(statement) if not isinstance(statement, ast.FunctionDef | ast.ClassDef) else ()
        ):
            if not isinstance(inner, ast.AugAssign) or not isinstance(inner.op, ast.Add):
                continue
            if not (isinstance(inner.value, ast.Constant) and inner.value.value == 1):
                continue
            if not isinstance(inner.target, ast.Name | ast.Attribute):
                continue
            value = machine.eval(inner.target)
            if isinstance(value, Constant) and isinstance(value.value, int):
                direct = inner is statement
                if direct and isinstance(inner.target, ast.Name) and sets(inner.target, node):
                    loop.set_back[full_name(machine, inner.target.id)] = value.value
                machine.rebind(inner.target, Count(loop.id if direct else "", value.value))
            elif isinstance(value, Thing) and not value.reach:
                machine.rebind(inner.target, Count(""))


def is_endless(machine: Machine, node: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Is it left by a `break` or a `return` alone, as `for batch in cycle(loader)` is?"""
    if isinstance(node, ast.While) or stops_behind_a_step(node) or fails_in_time(node):
        return True
    if not machine.context.loops and any(map(is_enough, ast.walk(node))):
        return True
    source = node.iter
    while isinstance(source, ast.Call) and called_name(source) in PASSING_ON and source.args:
        source = source.args[0]
    value = eval_quietly(machine, source)
    if isinstance(value, Thing) and value.cls and method_of(machine, value.cls, "__iter__"):
        return _gives_for_ever(machine, value)
    if not isinstance(source, ast.Call):
        return False
    made = eval_quietly(machine, source.func)
    if isinstance(made, FunctionDef):
        return goes_on_for_ever(made.node)
    return called_name(source) in ("cycle", "count")


def _gives_for_ever(machine: Machine, loader: Thing, deep: int = 3) -> bool:
    """Does its `__iter__` never end, or go through another that it holds, which never does?"""
    iterate = method_of(machine, loader.cls, "__iter__") if loader.cls and deep else None
    if iterate is None or goes_on_for_ever(iterate.node):
        return iterate is not None
    inside = list(ast.walk(iterate.node))
    if any(isinstance(inner, ast.Break | ast.Return) for inner in inside):
        return False
    held = (machine.flow.store.get(f"{loader.key}.{name}") for name in map(_gone_through, inside))
    return any(isinstance(h, Thing) and _gives_for_ever(machine, h, deep - 1) for h in held)


def _gone_through(node: ast.AST) -> str:
    """The `loader` of `iter(self.loader)`, and of `for batch in self.loader`."""
    match node:
        case ast.Call(ast.Name("iter"), [ast.Attribute(ast.Name("self"), name)]):
            return name
        case ast.For(iter=ast.Attribute(ast.Name("self"), name)):
            return name
    return ""
