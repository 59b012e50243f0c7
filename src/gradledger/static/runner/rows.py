"""What came of a file as plain lists, for the cache and for the pipe between processes.

Plain, because nothing that is read back may ever run: no pickle.
"""

from __future__ import annotations

from typing import Any

from gradledger.ledger.findings import Evidence, Finding, WitnessStep
from gradledger.ledger.places import Place
from gradledger.static.result import Checked, Result, Unknown
from gradledger.static.source.files import Trouble

Row = list[Any]


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


def result(row: Row) -> Result:
    """The result that the lists were made of."""
    findings, unknown, followed, troubles, relevant, calls, training = row
    return Result(
        Checked(
            tuple(map(_made, findings)),
            tuple(Unknown(*u) for u in unknown),
            followed,
            tuple(training),
        ),
        tuple(Trouble(*trouble) for trouble in troubles),
        relevant,
        calls,
    )


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


def _made(row: Row) -> Finding:
    rule, at, detail, certainty, evidence, cells, count, witness, assumptions = row
    return Finding(
        rule,
        _made_place(at),
        detail,
        certainty,
        tuple(Evidence(what, at and _made_place(at), note) for what, at, note in evidence),
        frozenset(cells),
        count,
        witness=tuple(WitnessStep(what, _made_place(at), when) for what, at, when in witness),
        assumptions=tuple(assumptions),
    )


def _place(place: Place) -> Row:
    return [place.path, place.line, place.column, place.via and _place(place.via)]


def _made_place(row: Row) -> Place:
    path, line, column, via = row
    return Place(path, line, column, via and _made_place(via))
