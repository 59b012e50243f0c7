"""A verdict in reviewdog's format (rdjson), which comments on pull requests of many code hosts."""

from __future__ import annotations

from typing import Any

from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.ledger.verdict import Verdict
from gradledger.report.annotation import annotation
from gradledger.report.as_json import whole
from gradledger.report.gaps import NOT_SEEN, Gap, gaps
from gradledger.report.inspection import Inspection
from gradledger.report.paths import cell_of, shown
from gradledger.report.regions import Regions
from gradledger.report.replacements import Cures, Replacement
from gradledger.rules import Severity, find
from gradledger.rules.homepage import page_of
from gradledger.rules.ordering import ordered, severity

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}


def document(verdict: Verdict | Inspection, cures: Cures | None = None) -> dict[str, Any]:
    """A diagnostic for each finding, worst first, and for what the verdict does not cover."""
    regions = Regions(verdict.sources)
    found = [_diagnostic(f, regions, cures or {}) for f in ordered(verdict.findings)]
    left = [_gap(gap, verdict.subject) for gap in gaps(verdict)]
    return {"source": {"name": "gradledger"}, "diagnostics": [*found, *left]}


def _diagnostic(finding: Finding, regions: Regions, cures: Cures) -> dict[str, Any]:
    rule = find(finding.rule)
    url = page_of(rule)
    edits = cures.get((finding.rule, finding.at), ())
    return {
        "message": whole(annotation(finding)),
        "location": _location(finding.at, regions),
        "severity": _SEVERITIES[severity(finding)],
        "code": {"value": rule.code, **({"url": url} if url else {})},
        **({"suggestions": list(map(_suggestion, edits))} if edits else {}),
    }


def _gap(gap: Gap, subject: str) -> dict[str, Any]:
    return {
        "message": whole(gap.sentence),
        "location": {"path": whole(subject)},
        "severity": "INFO" if gap.name == NOT_SEEN else "WARNING",
        "code": {"value": gap.name},
    }


def _location(place: Place, regions: Regions) -> dict[str, Any]:
    path, cell = cell_of(place.path)
    location: dict[str, Any] = {"path": whole(shown(path))}
    if cell:  # the position of its code in the notebook's file isn't known
        return location
    region = regions.of(place)
    if region is None:
        return {**location, "range": {"start": {"line": max(place.line, 1)}}}
    start, end = regions.in_bytes(place.path, region)
    return {
        **location,
        "range": {
            "start": {"line": region.line, "column": start + 1},
            "end": {"line": region.end_line, "column": end + 1},
        },
    }


def _suggestion(edit: Replacement) -> dict[str, Any]:
    start, end = ({"line": line, "column": 1} for line in (edit.line, edit.end))
    return {"range": {"start": start, "end": end}, "text": whole(edit.text)}
