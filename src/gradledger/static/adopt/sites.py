"""Statements, and what the checker has seen happen there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from gradledger.ledger.events import Event
from gradledger.ledger.tuples import NamedTuple
from gradledger.static.adopt.refusal import NotAdopted
from gradledger.static.fix.calls import calls
from gradledger.static.fix.script import Script, Statement
from gradledger.static.ir.program import Branch, Do, Program
from gradledger.static.source import syntax as ast


class Met(NamedTuple):
    """An event, and the answers to the conditions that it depends on."""

    event: Event
    answers: tuple[tuple[str | None, bool], ...] = ()


class Site(NamedTuple):
    """A place, its statement, and the events there, on all ways to it."""

    statement: Statement
    line: int
    column: int
    met: tuple[Met, ...]

    @property
    def call(self) -> ast.Call:
        """The call that does it; NotAdopted where it is none."""
        for call in calls(self.statement.node):
            if (call.lineno, call.col_offset) == (self.line, self.column):
                return call
        raise NotAdopted(f"line {self.line} does something to gradients in a way that isn't mapped")


def met_in(program: Program) -> Iterator[Met]:
    """All events of a program, in the order of the text."""
    todo: list[tuple[Program, tuple[tuple[str | None, bool], ...]]] = [(program, ())]
    while todo:
        piece, answers = todo.pop()
        if isinstance(piece, Do):
            yield Met(piece.event, answers)
        elif isinstance(piece, Branch):
            todo.append((piece.orelse, (*answers, (piece.condition, False))))
            todo.append((piece.then, (*answers, (piece.condition, True))))
        else:
            todo += [(inner, answers) for inner in reversed(piece.inner)]


class Sites:
    """The calls of one file at which something happens."""

    def __init__(self, script: Script, path: str, programs: Iterable[Program]) -> None:
        self._script = script
        self._path = os.path.abspath(path)
        self._met = [met for program in programs for met in met_in(program)]

    def of(self, *kinds: type[Event]) -> list[Site]:
        """Those of events of these kinds, in the order of the text; NotAdopted for other files."""
        places: dict[tuple[int, int], list[Met]] = {}
        for met in self._met:
            if isinstance(met.event, kinds):
                at = met.event.at
                if os.path.abspath(at.path) != self._path:
                    raise NotAdopted(
                        f"part of the loop is in another file ({at.path}, line {at.line}); only "
                        "loops in one file are rewritten"
                    )
                places.setdefault((at.line, at.column), []).append(met)
        return [self._site(*place, found) for place, found in sorted(places.items())]

    def lines(self, kind: type[Event]) -> list[int]:
        """Where there are events of this kind, also in a way that no statement shows."""
        return sorted({met.event.at.line for met in self._met if isinstance(met.event, kind)})

    def _site(self, line: int, column: int, met: list[Met]) -> Site:
        statement = self._script.at(line, column)
        if statement is None:
            raise NotAdopted(f"line {line} does something to gradients in a way that isn't mapped")
        return Site(statement, line, column, tuple(met))
