"""A verdict as GitHub workflow commands: each finding is shown at its line of a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.findings import Finding
from gradledger.ledger.verdict import Verdict
from gradledger.report.gaps import NOT_SEEN, gaps
from gradledger.report.inspection import MEANINGS, Inspection
from gradledger.report.paths import cell_of, in_checkout, is_no_file, shown
from gradledger.report.visible import visible
from gradledger.rules import Severity, find
from gradledger.rules.explanation import sentence
from gradledger.rules.framework_cures import fix
from gradledger.rules.ordering import ordered

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def commands(verdict: Verdict | Inspection) -> Iterator[str]:
    """One command for each finding, worst first: GitHub shows only the first few of a step.

    After them, what the verdict doesn't cover.
    """
    for finding in ordered(verdict.findings):
        rule = find(finding.rule)
        properties = {**_where(finding), "title": f"{rule.code} {rule.name}"}
        listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
        yield f"::{_COMMANDS[rule.severity]} {listed}::{_message(_told(finding))}"
    for gap in gaps(verdict):
        command = "notice" if gap.name == NOT_SEEN else "warning"
        yield f"::{command} title=gradledger {gap.name}::{_message(gap.sentence)}"


def _where(finding: Finding) -> dict[str, str]:
    if is_no_file(finding.at.path):
        return {}
    path, cell = cell_of(finding.at.path)
    # GitHub counts paths from the top of the checkout, wherever the step runs.
    file = in_checkout(path, "GITHUB_WORKSPACE")
    # GitHub counts lines of the notebook's JSON file; where its code is in it isn't known.
    return {"file": file, "line": str(1 if cell else finding.at.line)}


def _told(finding: Finding) -> str:
    rule = find(finding.rule)
    nowhere = is_no_file(finding.at.path) or cell_of(finding.at.path)[1]
    here = f"At {shown(finding.at.path)}:{finding.at.line}" if nowhere else "Here"
    rows = [sentence(rule.says), f"{here}: {finding.detail}.", f"Fix: {fix(finding)}."]
    rows += [
        f"{evidence.what}: {shown(evidence.at.path)}:{evidence.at.line} {evidence.note}".rstrip()
        for evidence in finding.told
        if evidence.at and evidence.at != finding.at
    ]
    if finding.assumptions:
        rows.append(f"Assumes: {'; '.join(finding.assumptions)}.")
    if finding.certainty in MEANINGS:
        rows.append(f"{finding.certainty.capitalize()}: {MEANINGS[finding.certainty]}.")
    return "\n".join(map(visible, rows))


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(visible(text)).replace(":", "%3A").replace(",", "%2C")
