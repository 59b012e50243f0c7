"""A verdict as JSON, as docs/findings.schema.json describes it."""

from __future__ import annotations

from typing import Any

from gradledger.ledger.findings import Evidence, Finding, WitnessStep
from gradledger.ledger.places import Place
from gradledger.ledger.unseen import Unseen
from gradledger.ledger.verdict import Verdict
from gradledger.report.balance import balance
from gradledger.report.counts import occurrences
from gradledger.report.inspection import Inspection, NotChecked, Suppressed, Unknown
from gradledger.report.paths import cell_of, shown
from gradledger.rules import find
from gradledger.rules.framework_cures import fix
from gradledger.rules.ordering import ordered

VERSION = 1
"""Increased when a key is removed or changes its meaning; adding a key doesn't change it."""


def document(verdict: Verdict | Inspection) -> dict[str, Any]:
    """The verdict as plain lists and dictionaries, findings worst first."""
    findings = [_finding(finding, verdict) for finding in ordered(verdict.findings)]
    return {
        "version": VERSION,
        "subject": whole(verdict.subject),
        "balanced": balance(verdict),
        "findings": findings,
        **(_of_run(verdict) if isinstance(verdict, Verdict) else _of_check(verdict)),
    }


def _of_run(verdict: Verdict) -> dict[str, Any]:
    return {
        "unknown": list(map(_unseen, verdict.unseen)),
        "stats": {
            **verdict.tally._asdict(),
            "parameters": verdict.parameters,
            "ranks": verdict.ranks,
            "seconds": verdict.seconds,
            "trouble": whole(verdict.trouble),
        },
    }


def _of_check(inspection: Inspection) -> dict[str, Any]:
    return {
        "unknown": list(map(_unknown, inspection.unknown)),
        "not_checked": list(map(_not_checked, inspection.not_checked)),
        "suppressed": list(map(_suppressed, inspection.suppressed)),
        "stats": {
            "files": inspection.files,
            "followed": inspection.followed,
            "unknown": len(inspection.unknown),
            "not_checked": len(inspection.not_checked),
            "suppressed": len(inspection.suppressed),
            "baselined": inspection.baselined,
            "unshown": inspection.unshown,
            "seconds": inspection.seconds,
        },
    }


def _unseen(unseen: Unseen) -> dict[str, Any]:
    names = list(map(whole, unseen.names))
    return {"what": unseen.what, "why": whole(unseen.why), "count": unseen.count, "names": names}


def _unknown(unknown: Unknown) -> dict[str, Any]:
    return {**_line(unknown.path, unknown.line), "what": unknown.what, "why": whole(unknown.why)}


def _not_checked(left: NotChecked) -> dict[str, Any]:
    return {**_line(left.path, left.line), "why": whole(left.why)}


def _suppressed(suppressed: Suppressed) -> dict[str, Any]:
    rule = find(suppressed.finding.rule)
    return {
        "rule": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "certainty": suppressed.finding.certainty,
        **_place(suppressed.finding.at),
        "detail": whole(suppressed.finding.detail),
        "reason": whole(suppressed.reason),
        "by": _line(suppressed.by.path, suppressed.by.line),
    }


def _finding(finding: Finding, verdict: Verdict | Inspection) -> dict[str, Any]:
    rule = find(finding.rule)
    return {
        "rule": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "certainty": finding.certainty,
        **_place(finding.at),
        "message": rule.says,
        "detail": whole(finding.detail),
        "fix": fix(finding),
        "symptom": rule.symptom,
        "count": finding.count,
        "occurrences": occurrences(finding, verdict) if isinstance(verdict, Verdict) else None,
        "parameters": sorted(map(whole, finding.cells)),
        "evidence": [_evidence(evidence) for evidence in finding.told],
        "witness": list(map(_step, finding.witness)),
        "assumptions": list(map(whole, finding.assumptions)),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    nowhere = dict.fromkeys(("path", "cell", "line", "column"))
    place = _place(evidence.at) if evidence.at else nowhere
    note = {"note": whole(evidence.note), "via": _via(evidence.at)}
    return {"what": evidence.what, **place, **note}


def _step(step: WitnessStep) -> dict[str, Any]:
    return {"what": step.what, **_place(step.at), "when": step.when, "via": _via(step.at)}


def _via(place: Place | None) -> list[dict[str, Any]]:
    """The calls that led to a place, innermost first."""
    return [] if place is None else [_place(caller) for caller in place.way[1:]]


def _place(place: Place) -> dict[str, Any]:
    return {**_line(place.path, place.line), "column": place.column}


def _line(path: str, line: int) -> dict[str, Any]:
    """A line of a file, or of a notebook cell, with the number of the cell."""
    file, cell = cell_of(path)
    return {"path": whole(shown(file)), "cell": cell, "line": line}


def whole(text: str) -> str:
    """The text without lone surrogates, which many JSON parsers reject."""
    return text.encode("utf-8", "replace").decode("utf-8")
