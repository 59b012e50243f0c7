"""What stays in the loop, and would see another state if the step came earlier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradledger.static.adopt.cycle import Cycle
from gradledger.static.adopt.loss import Loss
from gradledger.static.adopt.names import expressions
from gradledger.static.adopt.options import Options
from gradledger.static.adopt.refusal import NotAdopted
from gradledger.static.fix.calls import plain
from gradledger.static.fix.script import Statement
from gradledger.static.source import syntax as ast

_EXITS = (ast.Break, ast.Continue, ast.Return, ast.Raise)


def check_between(cycle: Cycle, options: Options, taken: Iterable[Statement]) -> None:
    """NotAdopted where a statement between backward and step needs the weights as they were.

    A Stepper's backward makes the update: what comes behind it sees the new weights.
    """
    gone = {id(statement.node) for statement in taken}
    touched = {options.model, options.optimizer, *_named(options)}
    for statement in _between(cycle):
        if id(statement.node) in gone:
            continue
        line = statement.node.lineno
        if isinstance(statement.node, _EXITS):
            raise NotAdopted(f"line {line} may leave the loop between backward() and step()")
        used = _uses(cycle, statement.node, touched)
        if used:
            raise NotAdopted(
                f"line {line} uses {used} between backward() and step(), which become one call"
            )


def check_loss(cycle: Cycle, loss: Loss) -> bool:
    """True if the divided loss is needed behind its backward; NotAdopted where it is before."""
    if loss.where is None:
        return False
    name = plain(loss.value)
    deposit = loss.site.statement.node
    used_behind = False
    for statement in cycle.script.within(cycle.scope):
        for node in expressions(statement.node):
            if plain(node) != name or not isinstance(getattr(node, "ctx", None), ast.Load):
                continue
            if deposit.lineno <= node.lineno <= (deposit.end_lineno or 0):
                continue
            if node.lineno > deposit.lineno:
                used_behind = True
            elif node.lineno > (loss.where.node.end_lineno or 0):
                raise NotAdopted(
                    f"line {node.lineno} uses the divided loss before backward(), which takes it "
                    "undivided: move it behind backward()"
                )
    return used_behind


def _between(cycle: Cycle) -> Iterator[Statement]:
    """The statements from the first backward to the step, in the order of the text."""
    first, last = cycle.deposits[0].statement, cycle.spend.statement
    for statement in cycle.script.within(cycle.scope):
        if first.node.lineno < statement.node.lineno < last.node.lineno or (
            not cycle.within(last)
            and cycle.within(statement)
            and statement.node.lineno > first.node.lineno
        ):
            yield statement


def _named(options: Options) -> set[str]:
    own = (options.arguments.get(name, "") for name in ("scaler", "scheduler"))
    return {name for value in own for name in value.strip("[]").split(", ") if name}


def _uses(cycle: Cycle, node: ast.stmt, touched: set[str]) -> str:
    """Which of these a statement uses, itself or through a function of the file."""
    inside = list(expressions(node))
    for inner in inside:
        name = plain(inner)
        for one in touched:
            if name is not None and (name == one or name.startswith(f"{one}.")):
                return one
    functions = {
        s.node.name: s.node
        for s in cycle.script.within(cycle.script.tree)
        if isinstance(s.node, ast.FunctionDef)
    }
    for call in inside:
        match call.func if isinstance(call, ast.Call) else None:
            case ast.Attribute(value=ast.Name("self"), attr=name):
                return f"self.{name}()"
            case ast.Name(id=name) if name in functions:
                for used in ast.walk(functions[name]):
                    if isinstance(used, ast.Name) and used.id in touched:
                        return f"{name}(), which uses {used.id},"
    return ""
