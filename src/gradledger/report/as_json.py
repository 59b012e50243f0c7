"""A verdict for programs, as docs/findings.schema.json describes it."""

from __future__ import annotations

from typing import Any

from gradledger.ledger.findings import Evidence, Finding
from gradledger.ledger.places import Place
from gradledger.ledger.verdict import Verdict
from gradledger.report.balance import balance
from gradledger.report.counts import occurrences
from gradledger.report.paths import shown
from gradledger.rules import find
from gradledger.rules.ordering import ordered

VERSION = 1
"""It grows when a key goes or changes its meaning; new keys may come without it."""


def document(verdict: Verdict) -> dict[str, Any]:
    """The verdict as plain lists and dictionaries, findings worst first."""
    return {
        "version": VERSION,
        "subject": whole(verdict.subject),
        "balanced": balance(verdict),
        "findings": [_finding(finding, verdict) for finding in ordered(verdict.findings)],
        "unknown": [],
        "stats": {
            **verdict.tally._asdict(),
            "parameters": verdict.parameters,
            "ranks": verdict.ranks,
            "seconds": verdict.seconds,
            "trouble": whole(verdict.trouble),
        },
    }


def _finding(finding: Finding, verdict: Verdict) -> dict[str, Any]:
    rule = find(finding.rule)
    return {
        "rule": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "certainty": finding.certainty,
        **_place(finding.at),
        "message": rule.says,
        "detail": whole(finding.detail),
        "fix": rule.fix,
        "symptom": rule.symptom,
        "count": finding.count,
        "occurrences": occurrences(finding, verdict),
        "parameters": sorted(map(whole, finding.cells)),
        "evidence": [_evidence(evidence) for evidence in finding.evidence],
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    place = _place(evidence.at) if evidence.at else {"path": None, "line": None, "column": None}
    return {"what": evidence.what, **place, "note": whole(evidence.note)}


def _place(place: Place) -> dict[str, Any]:
    return {"path": whole(shown(place.path)), "line": place.line, "column": place.column}


def whole(text: str) -> str:
    """The text without halves of characters, which many readers of JSON refuse."""
    return text.encode("utf-8", "replace").decode("utf-8")
