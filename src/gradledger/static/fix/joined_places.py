"""Places as people see them, back to lines of a notebook's joined text."""

from __future__ import annotations

from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.source.cell_places import file_and_cell
from gradledger.static.source.files import Source


def in_text(finding: Finding, source: Source) -> Finding:
    """The finding with all its places in that source as lines of its text. Plain files: as is."""
    if not source.cells:
        return finding
    return replace(
        finding,
        at=_placed(finding.at, source),
        evidence=tuple(
            replace(evidence, at=evidence.at and _placed(evidence.at, source))
            for evidence in finding.evidence
        ),
    )


def _placed(place: Place, source: Source) -> Place:
    file, number = file_and_cell(place.path)
    for cell in source.cells:
        if cell.number == number and file == source.path:
            return replace(place, path=file, line=cell.start + place.line - 1)
    return place
