"""One name for each file, as it was given: a file that another one imports is found by its own way.

Without it a finding would stand there twice, or its evidence in another file than itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.source.cell_places import cell_path, file_and_cell


def as_given(findings: Iterable[Finding], files: Iterable[str]) -> list[Finding]:
    """The findings, with every file that was given under that name."""
    names = {os.path.abspath(file): file for file in files}
    return [
        replace(
            finding,
            at=_renamed(finding.at, names),
            evidence=tuple(
                replace(evidence, at=evidence.at and _renamed(evidence.at, names))
                for evidence in finding.evidence
            ),
            witness=tuple(replace(s, at=_renamed(s.at, names)) for s in finding.witness),
        )
        for finding in findings
    ]


def _renamed(place: Place, names: Mapping[str, str]) -> Place:
    file, cell = file_and_cell(place.path)
    path = cell_path(names.get(os.path.abspath(file), file), cell)
    via = place.via and _renamed(place.via, names)
    return replace(place, path=path, via=via)
