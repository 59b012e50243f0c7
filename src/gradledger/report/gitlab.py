"""A verdict as GitLab's code quality report: findings are shown in a merge request."""

from __future__ import annotations

import hashlib
from typing import Any

from gradledger.ledger.findings import Finding
from gradledger.ledger.verdict import Verdict
from gradledger.report.annotation import annotation
from gradledger.report.as_json import whole
from gradledger.report.fingerprints import Fingerprints
from gradledger.report.gaps import NOT_SEEN, Gap, gaps
from gradledger.report.inspection import Inspection
from gradledger.report.paths import cell_of, in_checkout
from gradledger.report.sources import Sources
from gradledger.rules import Severity
from gradledger.rules.ordering import ordered, severity

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def document(verdict: Verdict | Inspection) -> list[dict[str, Any]]:
    """One entry for each finding, worst first, and then for what the verdict does not cover."""
    return [*_findings(verdict), *(_gap(gap, verdict.subject) for gap in gaps(verdict))]


def _findings(verdict: Verdict | Inspection) -> list[dict[str, Any]]:
    prints = Fingerprints(Sources(verdict.sources))
    return [
        {
            "description": whole(annotation(finding)),
            "check_name": finding.rule,
            "fingerprint": prints.of(finding),
            "severity": _SEVERITIES[severity(finding)],
            "location": _location(finding),
        }
        for finding in ordered(verdict.findings)
    ]


def _gap(gap: Gap, subject: str) -> dict[str, Any]:
    """GitLab has only findings, and each needs a line: this one gets the first of the script."""
    subject = whole(subject)
    return {
        "description": whole(gap.sentence),
        "check_name": gap.name,
        "fingerprint": hashlib.sha256(f"{gap.name}\0{subject}".encode()).hexdigest()[:32],
        "severity": "info" if gap.name == NOT_SEEN else "major",
        "location": {"path": subject, "lines": {"begin": 1}},
    }


def _location(finding: Finding) -> dict[str, Any]:
    path, cell = cell_of(finding.at.path)
    # GitLab counts lines of the notebook's JSON file; where its code is in it isn't known.
    line = 1 if cell else max(finding.at.line, 1)
    return {"path": whole(in_checkout(path, "CI_PROJECT_DIR")), "lines": {"begin": line}}
