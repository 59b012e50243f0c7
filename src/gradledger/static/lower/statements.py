"""Walks through statements, each by its kind."""

from __future__ import annotations

from gradledger.ledger.values import replace
from gradledger.static.domain.values import FunctionDef
from gradledger.static.ir.program import NOTHING, Branch, Do, Forget, Leave
from gradledger.static.lower.branches import excuse_drops, run_if
from gradledger.static.lower.names import full_name
from gradledger.static.lower.spelling import called_name
from gradledger.static.lower.stated_drops import is_stated_drop
from gradledger.static.lower.with_ import NO_GRAD
from gradledger.static.project.module import Function
from gradledger.static.source import syntax as ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine

EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit", "os.abort"})
"""After these, there is nothing more to follow."""


def end_epochs(machine: Machine) -> None:
    """The data of a loop in this block has ended, and nobody has spent its rest since."""
    for ran_out, event in machine.context.ended:
        machine.out.append(Branch(Do(event), NOTHING, ran_out))
        machine.out.append(Forget(ran_out))


def run_expression(machine: Machine, node: ast.Expr) -> None:
    """A call, mostly."""
    if isinstance(node.value, ast.BoolOp):
        run_if(machine, _as_branch(machine, node, node.value))
        return
    match node.value:
        case ast.Attribute(value=owner, attr="zero_grad"):  # without parentheses: nobody calls it
            machine.eval(owner)
            return
    clears = isinstance(node.value, ast.Call) and called_name(node.value) == "zero_grad"
    if clears and is_stated_drop(machine.context.scope.module, node.value):
        excuse_drops(machine, node)
    machine.eval(node.value)
    if not isinstance(node.value, ast.Call):
        return
    if (left := _leaves(machine, node.value.func)) is not None:
        machine.out.append(left)
    # Both until the end of this block.
    match called_name(node.value), node.value.args:
        case "set_grad_enabled", [ast.Constant(value=bool(enabled))]:
            machine.context = replace(machine.context, grad_enabled=enabled)
        case "set_grad_enabled", _:
            machine.flow = replace(machine.flow, grad_in_doubt=True)
        case "enter_context", [ast.Call() as manager]:
            enabled = machine.context.grad_enabled and called_name(manager) not in NO_GRAD
            machine.context = replace(machine.context, grad_enabled=enabled)


def _as_branch(machine: Machine, node: ast.Expr, value: ast.BoolOp) -> ast.If:
    """`amp and scaler.update()`: the same as with `if`."""
    branch = machine.known.branches.get(id(node))
    if branch is None:
        *tests, last = value.values
        test = tests[0] if len(tests) == 1 else ast.BoolOp(value.op, tests)
        if isinstance(value.op, ast.Or):
            test = ast.UnaryOp(ast.Not(), test)
        branch = ast.If(test, [ast.Expr(last)], [])
        for made in (branch, branch.body[0], test):
            ast.copy_location(made, node)
        machine.known.branches[id(node)] = branch
    return branch


def _leaves(machine: Machine, function: ast.expr) -> Leave | None:
    """`sys.exit`, or a function of the project's own that ends so, or raises."""
    if ast.unparse(function) in EXITS:
        return Leave("exit")
    called = machine.eval(function) if isinstance(function, ast.Name) else None
    body = getattr(called.node, "body", []) if isinstance(called, FunctionDef) else []
    match body[-1] if isinstance(body, list) and body else None:
        case ast.Raise():
            return Leave("raise")
        case ast.Expr(value=ast.Call(func=last)) if ast.unparse(last) in EXITS:
            return Leave("exit")
    return None


def run_assert(machine: Machine, node: ast.Assert) -> None:
    """`assert False` is as good as `raise`."""
    if isinstance(node.test, ast.Constant) and not node.test.value:
        machine.out.append(Leave("raise"))


def run_def(machine: Machine, node: Function) -> None:
    """`def`: a closure of what is around it."""
    value = FunctionDef(node, machine.context.scope.module, machine.context.scope.id)
    machine.set(full_name(machine, node.name), value)


def run_import(machine: Machine, node: ast.Import | ast.ImportFrom) -> None:
    """An import inside of a function."""
    if machine.context.scope.id:
        machine.context.scope.module._define(node)
