"""What a check says about a notebook's joined text, in the cells and lines that people see."""

from __future__ import annotations

from gradledger.ledger.findings import Evidence, Finding
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static.result import Checked, Unknown
from gradledger.static.source.cell_places import cell_path
from gradledger.static.source.files import Source, Trouble


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


def _finding(finding: Finding, source: Source) -> Finding:
    return replace(
        finding,
        at=_place(finding.at, source),
        evidence=tuple(_evidence(evidence, source) for evidence in finding.evidence),
        witness=tuple(replace(s, at=_place(s.at, source)) for s in finding.witness),
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
