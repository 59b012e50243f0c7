"""What a check says about a notebook's joined text, in the cells and lines that people see.

The cell is part of the path: `nb.ipynb:cell 3`, and the line is the line in that cell.
"""

from __future__ import annotations

from gradledger.ledger.findings import Evidence, Finding
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.checked import Checked, Unknown
from gradledger.static.reading.sources import Source, Trouble


def cell_path(path: str, number: int) -> str:
    """The path under which a cell is shown: `nb.ipynb:cell 3`. With 0, the file's own."""
    return f"{path}:cell {number}" if number else path


def file_and_cell(path: str) -> tuple[str, int]:
    """The file and the cell that a shown path means; the cell of a plain file is 0."""
    file, _, number = path.rpartition(":cell ")
    return (file, int(number)) if file.endswith(".ipynb") and number.isdecimal() else (path, 0)


def as_seen(checked: Checked, source: Source) -> Checked:
    """The same, with every place in the joined text as people see it. Plain files: unchanged."""
    if not source.cells:
        return checked
    return replace(
        checked,
        findings=tuple(_finding(finding, source) for finding in checked.findings),
        unknown=tuple(_unknown(unknown, source) for unknown in checked.unknown),
    )


def trouble_as_seen(trouble: Trouble, source: Source) -> Trouble:
    """The same for a Trouble."""
    if not trouble.line or trouble.path != source.path:
        return trouble
    number, line = source.locate(trouble.line)
    return trouble._replace(path=cell_path(trouble.path, number), line=line)


def texts(source: Source) -> dict[str, str]:
    """The text of each path as it is shown: of the file, or of each cell of a notebook."""
    if not source.cells:
        return {source.path: source.text}
    lines = source.text.split("\n")
    return {
        cell_path(source.path, cell.number): "\n".join(
            [*lines[cell.start - 1 : cell.start - 1 + cell.lines], ""]
        )
        for cell in source.cells
    }


def _finding(finding: Finding, source: Source) -> Finding:
    return replace(
        finding,
        at=_place(finding.at, source),
        evidence=tuple(_evidence(evidence, source) for evidence in finding.evidence),
    )


def _evidence(evidence: Evidence, source: Source) -> Evidence:
    return evidence if evidence.at is None else replace(evidence, at=_place(evidence.at, source))


def _place(place: Place, source: Source) -> Place:
    via = place.via and _place(place.via, source)
    if place.path != source.path:
        return place if via is place.via else replace(place, via=via)
    number, line = source.locate(place.line)
    return replace(place, path=cell_path(place.path, number), line=line, via=via)


def _unknown(unknown: Unknown, source: Source) -> Unknown:
    if unknown.path != source.path:
        return unknown
    number, line = source.locate(unknown.line)
    return unknown._replace(path=cell_path(unknown.path, number), line=line)
