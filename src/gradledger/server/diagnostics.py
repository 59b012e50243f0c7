"""Findings as diagnostics: what the editor underlines and lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from lsprotocol import types
from pygls.workspace import PositionCodec

from gradledger.ledger.findings import Finding
from gradledger.report.inspection import POSSIBLE
from gradledger.rules import Severity, find
from gradledger.rules.explanation import sentence
from gradledger.rules.framework_cures import fix
from gradledger.rules.ordering import severity
from gradledger.server.checking import Report
from gradledger.server.positions import Positions

SOURCE = "gradledger"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}


class Shown(NamedTuple):
    """A diagnostic, where it is, and the finding behind it; None for a mistake in a comment."""

    uri: str
    diagnostic: types.Diagnostic
    finding: Finding | None


def shown(report: Report, codec: PositionCodec) -> Iterator[Shown]:
    """All that a report has to show."""
    positions = Positions(report.sources, report.document, codec)
    for finding in report.findings:
        yield Shown(positions.uri(finding.at), _diagnostic(finding, positions), finding)
    for place, message in report.mistakes:
        diagnostic = types.Diagnostic(
            positions.range(place),
            sentence(message),
            severity=types.DiagnosticSeverity.Warning,
            code="ignore-comment",
            source=SOURCE,
        )
        yield Shown(positions.uri(place), diagnostic, None)


def _diagnostic(finding: Finding, positions: Positions) -> types.Diagnostic:
    rule = find(finding.rule)
    rows = [f"{sentence(rule.says)} Here: {finding.detail}.", f"Fix: {fix(finding)}."]
    if finding.certainty == "possible":
        rows.append(f"Possible: {POSSIBLE}.")
    return types.Diagnostic(
        positions.range(finding.at),
        "\n".join(rows),
        severity=_SEVERITIES[severity(finding)],
        code=finding.rule,
        source=SOURCE,
        related_information=[
            types.DiagnosticRelatedInformation(
                positions.location(evidence.at), f"{evidence.what} {evidence.note}".strip()
            )
            for evidence in finding.told
            if evidence.at is not None
        ],
    )
