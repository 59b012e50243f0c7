"""A verdict as GitHub workflow commands: each finding is shown at its line of a pull request."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gradledger.ledger.findings import Finding
from gradledger.ledger.verdict import Verdict
from gradledger.report.paths import inside, is_no_file, shown
from gradledger.report.visible import visible
from gradledger.rules import Severity, find
from gradledger.rules.explanation import sentence
from gradledger.rules.ordering import ordered

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def commands(verdict: Verdict) -> Iterator[str]:
    """One command for each finding, worst first: GitHub shows only the first few of a step."""
    for finding in ordered(verdict.findings):
        rule = find(finding.rule)
        properties = {**_where(finding), "title": f"{rule.code} {rule.name}"}
        listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
        yield f"::{_COMMANDS[rule.severity]} {listed}::{_message(_told(finding))}"


def _where(finding: Finding) -> dict[str, str]:
    if is_no_file(finding.at.path):
        return {}
    # GitHub counts paths from the top of the checkout, wherever the step runs.
    path = inside(finding.at.path, os.environ.get("GITHUB_WORKSPACE", "")) or shown(finding.at.path)
    return {"file": path.replace(os.sep, "/"), "line": str(finding.at.line)}


def _told(finding: Finding) -> str:
    rule = find(finding.rule)
    here = f"At {finding.at}" if is_no_file(finding.at.path) else "Here"
    rows = [sentence(rule.says), f"{here}: {finding.detail}.", f"Fix: {rule.fix}."]
    rows += [
        f"{evidence.what}: {shown(evidence.at.path)}:{evidence.at.line} {evidence.note}".rstrip()
        for evidence in finding.evidence
        if evidence.at and evidence.at != finding.at
    ]
    if finding.certainty == "possible":
        rows.append("Possible: on some paths through the code, not on all.")
    return "\n".join(map(visible, rows))


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(visible(text)).replace(":", "%3A").replace(",", "%2C")
