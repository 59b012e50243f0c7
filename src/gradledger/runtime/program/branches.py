"""Branches of a function: which of its statements have run for certain when another one runs."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_LEAVES = ast.Raise | ast.Return | ast.Continue | ast.Break


class _Block(NamedTuple):
    of: ast.stmt
    number: int
    """Its position among the blocks of that statement: at most one of an `if` or `match` runs."""
    first: int
    last: int

    def has(self, statement: ast.stmt) -> bool:
        return self.first <= statement.lineno <= self.last


class Branches:
    """The blocks of a function that need not run.

    The body of a loop isn't one of them: without a round there is no loss to go back from.
    """

    def __init__(self, statements: Iterable[ast.stmt]) -> None:
        self._blocks = [
            _Block(statement, number, body[0].lineno, body[-1].end_lineno or body[-1].lineno)
            for statement in statements
            for number, body in enumerate(_bodies(statement))
            if body
        ]

    def has_run(self, statement: ast.stmt, *, before: ast.stmt) -> bool:
        """Whether it has run in any case when the later one runs."""
        return all(block.has(before) for block in self._blocks if block.has(statement))

    def exclude(self, one: ast.stmt, other: ast.stmt) -> bool:
        """Whether at most one of the two runs: they are in two branches of one statement."""
        ones = {id(block.of): block.number for block in self._blocks if block.has(one)}
        others = {id(block.of): block.number for block in self._blocks if block.has(other)}
        shared = ones.keys() & others.keys()
        return any(ones[statement] != others[statement] for statement in shared)


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    match statement:
        case ast.If(body=body, orelse=orelse):
            yield body
            yield orelse
        case ast.For(orelse=orelse) | ast.AsyncFor(orelse=orelse) | ast.While(orelse=orelse):
            yield orelse
        case ast.Match(cases=cases):
            yield from (case.body for case in cases)
        case ast.Try(body=body, handlers=handlers, orelse=orelse):
            caught = [handler.body for handler in handlers]
            if not all(isinstance(each[-1], _LEAVES) for each in caught):
                yield [*body, *orelse]
            yield from caught
