"""The checker on the cells that a notebook has run, as if they were a file."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

from gradledger.ledger.findings import Evidence, Finding
from gradledger.ledger.places import Place, cell_path
from gradledger.ledger.values import replace
from gradledger.report.inspection import Inspection, NotChecked, Suppressed, Unknown
from gradledger.report.visible import visible
from gradledger.static.runner.runner import check_bytes
from gradledger.static.source.cell_places import file_and_cell, texts
from gradledger.static.source.files import Source, from_bytes
from gradledger.static.source.suppression import IgnoreComments

_FILE = "notebook.ipynb"


def check(cells: Mapping[int, str], *, possible: bool = False) -> Inspection:
    """What a check of these cells finds. They are told by their numbers."""
    begun = time.perf_counter()
    data = _notebook(cells)
    result = check_bytes(_FILE, data, roots=(os.getcwd(),))
    source = from_bytes(_FILE, data)
    assert isinstance(source, Source)
    comments = IgnoreComments(source.text)
    shown: list[Finding] = []
    suppressed: list[Suppressed] = []
    unshown = 0
    for finding in result.checked.findings:
        ignore = comments.of(finding.rule, _line(source, finding.at))
        if finding.certainty == "possible" and not possible:
            unshown += ignore is None
        elif ignore is None:
            shown.append(_told(finding))
        else:
            number, line = source.locate(ignore.line)
            suppressed.append(
                Suppressed(_told(finding), Place(cell_path(number), line), ignore.reason)
            )
    return Inspection(
        subject="the cells that were run",
        findings=tuple(shown),
        sources={_path(path): text for path, text in texts(source).items()},
        unknown=tuple(Unknown(_path(one[0]), *one[1:]) for one in result.checked.unknown),
        suppressed=tuple(suppressed),
        not_checked=tuple(NotChecked(_path(t.path), t.line, t.message) for t in result.troubles),
        files=1,
        followed=result.checked.followed,
        unshown=unshown,
        seconds=round(time.perf_counter() - begun, 3),
    )


def rows(said: Inspection, *, unknown: bool) -> Iterator[str]:
    """The cells that are no Python; with `unknown`, the code that could not be followed, too."""
    for left in said.not_checked:
        yield visible(f"{_shown(left.path, left.line)}: not checked: {left.why}")
    for one in said.unknown if unknown else ():
        yield visible(f"{_shown(one.path, one.line)}: unknown: {one.what}: {one.why}")


def _shown(path: str, line: int) -> str:
    return str(Place(path, line))


def _notebook(cells: Mapping[int, str]) -> bytes:
    """A notebook in which each cell stands at its number."""
    last = max(cells, default=0)
    made: list[dict[str, Any]] = [
        {"cell_type": "code", "source": cells[number]}
        if number in cells
        else {"cell_type": "markdown", "source": ""}
        for number in range(1, last + 1)
    ]
    return json.dumps({"nbformat": 4, "cells": made}).encode()


def _line(source: Source, place: Place) -> int:
    """The line in the text of all cells."""
    _, number = file_and_cell(place.path)
    starts = [cell.start for cell in source.cells if cell.number == number]
    return starts[0] + place.line - 1 if starts else place.line


def _told(finding: Finding) -> Finding:
    evidence = (
        e if e.at is None else Evidence(e.what, _place(e.at), e.note) for e in finding.evidence
    )
    witness = tuple(replace(step, at=_place(step.at)) for step in finding.witness)
    at = _place(finding.at)
    return replace(finding, at=at, evidence=tuple(evidence), witness=witness)


def _place(place: Place) -> Place:
    via = None if place.via is None else _place(place.via)
    return replace(place, path=_path(place.path), via=via)


def _path(path: str) -> str:
    file, number = file_and_cell(path)
    return cell_path(number) if file == _FILE and number else path
