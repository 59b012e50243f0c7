"""How many things a generator gives, where that stands in the source."""

from __future__ import annotations

from gradledger.static.domain.values import Constant, FunctionDef
from gradledger.static.lower.arguments import bind_arguments
from gradledger.static.lower.loop_shapes import is_range
from gradledger.static.lower.return_values import quietly
from gradledger.static.lower.scope_names import new_scope
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.arguments import Arguments
    from gradledger.static.lower.machine import Machine

_OTHERWISE = (
    *(ast.Break, ast.Continue, ast.Return, ast.Raise, ast.Try),
    *(ast.If, ast.While, ast.For, ast.YieldFrom),
)
"""By these a round may give nothing, or more than one thing."""


def number_given(machine: Machine, function: FunctionDef, arguments: Arguments) -> int | None:
    """As many as its only loop has rounds, each of which gives one; None where nobody knows."""
    loop = _only_loop(function.node)
    if loop is None:
        return None
    scope = new_scope(
        machine, "generator", function.module, parent=function.scope, via=None, node=function.node
    )
    with machine.within(scope=scope):
        bind_arguments(machine, function, scope, arguments)
        rounds = quietly(machine, lambda: machine.items_of(loop.iter)).rounds
        return _counted(machine, loop.iter) if is_range(loop.iter) else rounds


def _only_loop(function: ast.AST) -> ast.For | None:
    """The loop that a function is, in which each round yields once."""
    body = getattr(function, "body", None)
    match body:
        case [ast.Expr(ast.Constant()), ast.For() as loop] | [ast.For() as loop]:
            inside = [node for statement in loop.body for node in ast.walk(statement)]
            yields = sum(isinstance(node, ast.Yield) for node in inside)
            plain = not loop.orelse and not any(isinstance(n, _OTHERWISE) for n in inside)
            return loop if plain and yields == 1 else None
    return None


def _counted(machine: Machine, node: ast.expr) -> int | None:
    """The rounds of `range(0, rows, size)`."""
    given = [machine.eval(each) for each in getattr(node, "args", ())]
    values = [each.value for each in given if isinstance(each, Constant)]
    numbers = [value for value in values if isinstance(value, int)]
    if not numbers or len(numbers) != len(given) or 0 in numbers[2:]:
        return None
    return len(range(*numbers))
