"""`try`: a body that may break off anywhere, and what is done then."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.events import Fault
from gradledger.static.domain.flow import join
from gradledger.static.ir.blocks import acts, branch, does, holds
from gradledger.static.ir.effects import Deposits, Spends
from gradledger.static.ir.program import Try
from gradledger.static.lower.branch_tests import CLEARS
from gradledger.static.lower.branches import excuse_drops
from gradledger.static.lower.spelling import last_name
from gradledger.static.source import syntax as ast
from gradledger.static.source.vocabulary import STEPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.lower.machine import Machine


def run_try(machine: Machine, node: ast.Try) -> None:
    """Walks through what may break off anywhere, and through what is done then."""
    if not node.handlers:
        machine.run(node.body)
        machine.run(node.orelse)
        machine.run(node.finalbody)
        return
    before = machine.fork()

    def attempt() -> None:
        machine.run(node.body)
        machine.run(node.orelse)

    def recover() -> None:
        machine.flow = join(machine.fork(), before)
        if flush or any(_gives_up(machine, handler) for handler in node.handlers):
            excuse_drops(machine, node)
        _handlers(machine, node.handlers)

    body = machine.block(attempt)
    ended = (machine.context.scope.id, len(machine.context.loops)) in before.rest_at
    # Behind a loop with windows, who tries to step means to leave nothing over.
    flush = ended and holds(body, Spends) and not holds(body, Deposits)
    after = machine.fork()
    handler = machine.block(recover)
    machine.flow = join(after, machine.fork())  # who leaves here may go on with the next round
    torn = holds(body, Deposits) and not _answers(machine, node)
    fault = Fault(machine.at(node.handlers[0])) if torn else None
    if acts(body) or acts(handler) or does(body) or does(handler):
        machine.out.append(Try(body, handler, fault))
    machine.run(node.finalbody)


def _gives_up(machine: Machine, handler: ast.ExceptHandler) -> bool:
    """Does it clear, or go on with the next batch? What is left of the window then is no slip."""
    if CLEARS.search(machine.context.scope.module.text(handler)):
        return True
    return bool(machine.context.loops) and isinstance(handler.body[-1], ast.Continue)


def _answers(machine: Machine, node: ast.Try) -> bool:
    """Does somebody learn that it was broken off, or is it done again from the start?"""
    if all(map(_meets_the_end, node.handlers)):
        return True
    if any(_says_how_it_went(machine, h) for h in node.handlers) or _sets_a_flag(node.body[-1]):
        return True
    around = machine.context.scope.node or machine.context.scope.module.tree
    if _counts_what_went_well(node.body[-1], around):
        return True
    if any(CLEARS.search(machine.context.scope.module.text(s)) for s in node.finalbody):
        return True
    again = [
        loop
        for loop in ast.walk(around)
        if isinstance(loop, ast.While) and any(inner is node for inner in ast.walk(loop))
    ]
    if not again or not CLEARS.search(machine.context.scope.module.text(again[-1])):
        return False
    if _goes_on_by_itself(again[-1]):
        return False
    return not _goes_on_to_a_step(machine, node, again[-1])


def _says_how_it_went(machine: Machine, handler: ast.ExceptHandler) -> bool:
    """`except …: failed = True`, or `return False` to somebody who asks for it."""
    inside = list(ast.walk(handler))
    if any(map(_sets_a_flag, inside)):
        return True
    returned = [s for s in inside if isinstance(s, ast.Return)]
    if not all(isinstance(s.value, ast.Constant | None) for s in returned):
        return True
    return bool(returned) and not _nobody_asks(machine)


def _nobody_asks(machine: Machine) -> bool:
    """Does who has called this function drop what it gives, or only count it?"""
    via = machine.context.scope.via
    if via is None:
        return False
    caller = next(
        (s.module for s in machine.log.scopes.values() if s.module.path == via.path), None
    )
    return caller is not None and is_dropped(caller.tree, via.line, via.column)


def _goes_on_to_a_step(machine: Machine, node: ast.Try, loop: ast.While) -> bool:
    """Does a step follow in the same round, ahead of any clear and any way out?"""
    for body in (getattr(inner, "body", None) for inner in ast.walk(loop)):
        if not isinstance(body, list) or node not in body:
            continue
        for statement in body[body.index(node) + 1 :]:
            text = machine.context.scope.module.text(statement)
            if isinstance(statement, ast.Expr) and STEPS.search(text):
                return True
            if CLEARS.search(text) or not isinstance(statement, ast.Expr | ast.Assign):
                return False
    return False


def _handlers(machine: Machine, handlers: list[ast.ExceptHandler]) -> None:
    if len(handlers) == 1:
        machine.run(handlers[0].body)
        return
    then, orelse, _ = machine.both(
        lambda: machine.run(handlers[0].body), lambda: _handlers(machine, handlers[1:])
    )
    machine.out.append(branch(then, orelse, None))


def _meets_the_end(handler: ast.ExceptHandler) -> bool:
    """`except StopIteration`: the data has come to its end, and nothing was torn?"""
    return handler.type is not None and last_name(handler.type) == "StopIteration"


def _goes_on_by_itself(loop: ast.While) -> bool:
    """`while step < last:` with `step += 1` in each round, whatever becomes of it?"""
    asked = {name.id for name in ast.walk(loop.test) if isinstance(name, ast.Name)}
    return any(
        isinstance(statement, ast.AugAssign)
        and isinstance(statement.target, ast.Name)
        and statement.target.id in asked
        for statement in _before_a_way_out(loop.body)
    )


def _before_a_way_out(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that each round of a loop comes to."""
    for statement in body:
        yield statement
        if any(isinstance(n, ast.Continue | ast.Break | ast.Return) for n in ast.walk(statement)):
            return


def is_dropped(tree: ast.Module, line: int, column: int) -> bool:
    """Is what the call there gives taken by nobody, or given a name that nothing looks at?"""
    around: ast.AST = tree
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
            around = node
    for node in ast.walk(around):
        match node:
            case ast.Expr(ast.Call() as call):
                name = ""
            case ast.Assign([ast.Name(name)], ast.Call() as call):
                pass
            case ast.AugAssign(ast.Name(name), _, ast.Call() as call):
                pass
            case _:
                continue
        if (call.lineno, call.col_offset) == (line, column):
            shown = {id(n) for told in _told(around) for n in ast.walk(told)}
            return not any(
                isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
                for n in ast.walk(around)
                if id(n) not in shown
            )
    return False


def _told(around: ast.AST) -> Iterator[ast.Call]:
    """What is only shown to somebody who looks on."""
    for node in ast.walk(around):
        match node:
            case ast.Expr(ast.Call(ast.Name("print")) as call):
                yield call
            case ast.Expr(ast.Call(ast.Attribute(attr="info" | "warning" | "debug")) as call):
                yield call


def _sets_a_flag(statement: ast.AST) -> bool:
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Constant | ast.Name)


def _counts_what_went_well(last: ast.stmt, around: ast.AST) -> bool:
    """`good += 1`, and somewhere `if good < size`?"""
    match last:
        case ast.AugAssign(target=ast.Name(id=name), value=ast.Constant()):
            asked = (n.test for n in ast.walk(around) if isinstance(n, ast.If | ast.IfExp))
            return any(_compares(inner, name) for test in asked for inner in ast.walk(test))
    return False


def _compares(node: ast.AST, name: str) -> bool:
    sides = (node.left, *node.comparators) if isinstance(node, ast.Compare) else ()
    return any(isinstance(side, ast.Name) and side.id == name for side in sides)
