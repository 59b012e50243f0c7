"""What came of a file as plain lists, for the cache and for the pipe between processes.

Plain, because nothing that is read back may ever run: no pickle. What is read back is checked
item by item: a row that `row` can't have written raises ValueError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from gradledger.ledger.findings import Evidence, Finding, WitnessStep
from gradledger.ledger.places import Place
from gradledger.rules.catalogue import CODES
from gradledger.static import budget
from gradledger.static.result import Checked, Result, Unknown
from gradledger.static.source.files import Trouble

Row = list[Any]
May = Callable[[str], bool]


def row(result: Result) -> Row:
    """The result as lists, texts and numbers."""
    checked = result.checked
    return [
        [_finding(finding) for finding in checked.findings],
        [list(unknown) for unknown in checked.unknown],
        checked.followed,
        [list(trouble) for trouble in result.troubles],
        result.relevant,
        result.calls,
        list(checked.training),
    ]


def result(row: object, *, may_show: May = lambda path: True) -> Result:
    """The result that the lists were made of. `may_show`: whether a place may be in this file."""
    return _Reading(may_show).result(row)


def _finding(finding: Finding) -> Row:
    return [
        finding.rule,
        _place(finding.at),
        finding.detail,
        finding.certainty,
        [[e.what, e.at and _place(e.at), e.note] for e in finding.evidence],
        sorted(finding.cells),
        finding.count,
        [[step.what, _place(step.at), step.when] for step in finding.witness],
        list(finding.assumptions),
    ]


def _place(place: Place) -> Row:
    return [place.path, place.line, place.column, place.via and _place(place.via)]


class _Reading:
    """Rows to results. Every method raises ValueError for what is not of its kind."""

    def __init__(self, may_show: May) -> None:
        self._may_show = may_show

    def result(self, row: object) -> Result:
        findings, unknown, followed, troubles, relevant, calls, training = _list(row, 7)
        return Result(
            Checked(
                tuple(map(self._finding, _list(findings))),
                tuple(map(self._unknown, _list(unknown))),
                _number(followed),
                tuple(map(_text, _list(training))),
            ),
            tuple(map(self._trouble, _list(troubles))),
            _flag(relevant),
            _flag(calls),
        )

    def _finding(self, row: object) -> Finding:
        fields = _list(row, 9)
        rule, at, detail, certainty, evidence, cells, count, witness, assumptions = fields
        if rule not in CODES or certainty not in ("certain", "likely", "possible"):
            _fail()
        return Finding(
            rule,
            self._place(at),
            _text(detail),
            certainty,
            tuple(map(self._evidence, _list(evidence))),
            frozenset(map(_text, _list(cells))),
            _number(count),
            witness=tuple(map(self._step, _list(witness))),
            assumptions=tuple(map(_text, _list(assumptions))),
        )

    def _step(self, row: object) -> WitnessStep:
        what, at, when = _list(row, 3)
        return WitnessStep(_text(what), self._place(at), _text(when))

    def _evidence(self, row: object) -> Evidence:
        what, at, note = _list(row, 3)
        return Evidence(_text(what), None if at is None else self._place(at), _text(note))

    def _place(self, row: object) -> Place:
        way: list[Row] = []
        while row is not None:
            way.append(_list(row, 4))
            row = way[-1][3]
            if len(way) > budget.LONGEST_CALL_CHAIN:
                _fail()
        place: Place | None = None
        for path, line, column, _ in reversed(way):
            place = Place(self._path(path), _number(line), _number(column), place)
        return place or _fail()

    def _unknown(self, row: object) -> Unknown:
        path, line, what, why = _list(row, 4)
        return Unknown(self._path(path), _number(line), _text(what), _text(why))

    def _trouble(self, row: object) -> Trouble:
        path, line, message = _list(row, 3)
        return Trouble(self._path(path), _number(line), _text(message))

    def _path(self, value: object) -> str:
        path = _text(value)
        return path if self._may_show(path) else _fail()


def _list(value: object, size: int | None = None) -> Row:
    if not isinstance(value, list) or (size is not None and len(value) != size):
        _fail()
    return value


def _text(value: object) -> str:
    return value if isinstance(value, str) else _fail()


def _number(value: object) -> int:
    # Not a bool, which is an int too.
    return value if type(value) is int and 0 <= value < budget.LARGEST_NUMBER else _fail()


def _flag(value: object) -> bool:
    return value if isinstance(value, bool) else _fail()


def _fail() -> NoReturn:
    raise ValueError("no result was ever written like this")
