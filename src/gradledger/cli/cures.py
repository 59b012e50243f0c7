"""Fixes for the findings of a run: the certain edits of `check`, on the recorded source."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradledger.ledger.findings import Finding
    from gradledger.ledger.places import Place
    from gradledger.ledger.verdict import Verdict

Cures = Mapping[tuple[str, "Place"], str]
"""For a rule broken at a place, the edit as a unified diff."""


def cures(verdict: Verdict) -> Cures:
    """The fixes that are certain. Nothing is read from disk: the source may have changed since."""
    found: dict[tuple[str, Place], str] = {}
    by_path: dict[str, list[Finding]] = {}
    for finding in verdict.findings:
        if finding.at.path in verdict.sources:
            by_path.setdefault(finding.at.path, []).append(finding)
    for path, findings in by_path.items():
        seen = _seen(path, verdict.sources[path])
        for finding in findings:
            same = [
                one for one in seen if (one.rule, one.at.line) == (finding.rule, finding.at.line)
            ]
            if same and (diff := _diff(path, verdict.sources[path], same[0])):
                found[finding.rule, finding.at] = diff
    return found


def _seen(path: str, text: str) -> list[Finding]:
    """The findings of a check of that source."""
    from gradledger.static.runner.runner import check_bytes

    return list(check_bytes(path, text.encode("utf-8", "replace"), roots=()).checked.findings)


def _diff(path: str, text: str, finding: Finding) -> str:
    from gradledger.report.paths import shown
    from gradledger.static.fix import fixes

    data = text.encode("utf-8", "replace")
    for made in fixes([finding], [path], roots=(), at_hand={path: data}):
        after = made.after.decode("utf-8", "replace")
        name = shown(path)
        lines = difflib.unified_diff(
            text.splitlines(), after.splitlines(), name, name, lineterm="", n=2
        )
        return "\n".join(lines)
    return ""
