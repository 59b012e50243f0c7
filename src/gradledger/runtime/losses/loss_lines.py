"""The line of a function that makes the loss which it returns, and the one that divides it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple

from gradledger.ledger.places import Place
from gradledger.runtime.program.branches import Branches
from gradledger.runtime.program.source_files import Source

_DEEP = 8
"""Assignments that a loss goes through, at the most."""


class Division(NamedTuple):
    """A division or multiplication that a loss goes through."""

    statement: ast.stmt
    by: ast.expr
    of: ast.expr | None
    multiplies: bool

    @property
    def is_by_a_number(self) -> bool:
        """Whether the number is written there itself: `0.5 * loss`, `loss / 4`."""
        return isinstance(self.by, ast.Constant)

    def may_be_by(self, window: int) -> bool:
        """Whether it could be a division by a window of that size, and not one of its own right."""
        if not self.is_by_a_number:
            return True
        if self.multiplies:
            return window > 2  # a half is a usual factor: a quarter is none
        is_mean_of_two = isinstance(self.of, ast.BinOp) and isinstance(self.of.op, ast.Add)
        return window > 2 or not is_mean_of_two


def loss_line(source: Source, code: CodeType) -> Place:
    """Where the function makes what it returns as its loss; else where it begins.

    Only a statement that has run for certain is named: where branches make different losses, that
    is the statement behind them that goes on with the loss.
    """
    statements = source.statements_of(code)
    branches = Branches(statements)
    lines = {_making(statement, statements, branches) for statement in _returns(statements)}
    if len(lines) == 1:
        made = lines.pop()
        return Place(source.path, made.lineno, made.col_offset)
    return Place(source.path, code.co_firstlineno)


def _making(
    returned: ast.Return, statements: list[ast.stmt], branches: Branches
) -> ast.Return | ast.stmt:
    """The statement that makes what is returned here, as far back as it is certain."""
    statement: ast.stmt = returned
    value = _loss_in(returned.value)
    for _ in range(_DEEP):
        if not isinstance(value, ast.Name):
            break
        before = [
            s
            for s in statements
            if s.lineno < statement.lineno
            and value.id in _assigned(s)
            and not branches.exclude(s, statement)
        ]
        made = max(before, key=lambda s: s.lineno, default=None)
        if made is None or not branches.has_run(made, before=statement):
            break
        statement, value = made, getattr(made, "value", None)
        if not isinstance(made, ast.Assign | ast.AnnAssign):
            break
    return statement


def division(source: Source, code: CodeType | None, at: Place) -> Division | None:
    """The last one that the loss goes through: on its way to the return of this function, or, where
    there is none, to the statement at this place."""
    if code is not None:
        chain = _chain(source.statements_of(code), before=None)
    else:
        statement = source.statement_at(at.line)
        chain = _chain(source.statements, before=statement) if statement is not None else iter(())
    for made, value in chain:
        if isinstance(made, ast.AugAssign) and isinstance(made.op, ast.Div | ast.Mult):
            return Division(made, made.value, None, isinstance(made.op, ast.Mult))
        for node in ast.walk(value):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Mult):
                swapped = isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Constant)
                by, of = (node.left, node.right) if swapped else (node.right, node.left)
                return Division(made, by, of, isinstance(node.op, ast.Mult))
    return None


def _chain(
    statements: list[ast.stmt], *, before: ast.stmt | None
) -> Iterator[tuple[ast.stmt, ast.expr]]:
    """The statements that a loss comes through, the last first, each with its expression."""
    statement, value = before, None
    if before is None:
        returns = _returns(statements)
        if not returns:
            return
        statement, value = returns[-1], _loss_in(returns[-1].value)
    elif isinstance(before, ast.Expr):
        value = before.value
    for _ in range(_DEEP):
        if statement is None or value is None:
            return
        yield statement, value
        wanted = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
        earlier = [s for s in statements if s.lineno < statement.lineno and _assigned(s) & wanted]
        statement = max(earlier, key=lambda s: s.lineno, default=None)
        value = getattr(statement, "value", None)


def _returns(statements: list[ast.stmt]) -> list[ast.Return]:
    """Those that give something back: who returns None has no loss."""
    found = (s for s in statements if isinstance(s, ast.Return) and s.value is not None)
    return [s for s in found if not (isinstance(s.value, ast.Constant) and s.value.value is None)]


def _loss_in(value: ast.expr | None) -> ast.expr | None:
    """The part of what is returned that is the loss."""
    match value:
        case ast.Tuple(elts=[first, *_]):
            return _loss_in(first)
        case ast.IfExp(body=body, orelse=other):
            return _loss_in(other if isinstance(body, ast.Tuple | ast.Dict) else body)
        case ast.Dict(keys=keys, values=values):
            for key, part in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "loss":
                    return _loss_in(part)
        case ast.Call(keywords=keywords):
            for keyword in keywords:
                if keyword.arg == "loss":
                    return _loss_in(keyword.value)
    return value


def _assigned(statement: ast.stmt) -> set[str]:
    match statement:
        case ast.Assign(targets=targets):
            found = targets
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            found = [target]
        case _:
            return set()
    return {n.id for target in found for n in ast.walk(target) if isinstance(n, ast.Name)}
