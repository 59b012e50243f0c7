"""The findings of two runs, matched as a baseline matches them: moved lines don't matter."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from gradledger.ledger.findings import Finding
from gradledger.ledger.values import replace
from gradledger.ledger.verdict import Verdict
from gradledger.report.counts import occurrences
from gradledger.report.fingerprints import Fingerprints
from gradledger.report.sources import Sources
from gradledger.rules.ordering import ordered

ALIKE = 0.01
"""Shares that differ by less count as equal, so that a longer run isn't reported as worse."""


class Kept(NamedTuple):
    """A finding that both runs have."""

    before: Finding
    after: Finding
    trend: int
    """1: more often than before; -1: less often; 0: as often."""


class Findings(NamedTuple):
    """New, fixed and remaining findings, each worst first."""

    new: tuple[Finding, ...]
    gone: tuple[Finding, ...]
    kept: tuple[Kept, ...]


def matched(before: Verdict, after: Verdict, scripts: tuple[str, str]) -> Findings:
    """Matches the findings of one run with those of the other. `scripts`: what was run."""
    old, new = dict(_known(before, scripts[0])), dict(_known(after, scripts[1]))
    return Findings(
        new=tuple(finding for known, finding in new.items() if known not in old),
        gone=tuple(finding for known, finding in old.items() if known not in new),
        kept=tuple(
            Kept(old[known], finding, _trend((old[known], before), (finding, after)))
            for known, finding in new.items()
            if known in old
        ),
    )


def _known(verdict: Verdict, script: str) -> Iterator[tuple[str, Finding]]:
    """Each finding by its fingerprint. Where the script lies and what it is called is no matter:
    it may be compared with a copy of itself.
    """
    texts = {_from_script(path, script): text for path, text in verdict.sources.items()}
    fingerprints = Fingerprints(Sources(texts))
    for finding in ordered(verdict.findings):
        at = replace(finding.at, path=_from_script(finding.at.path, script))
        yield fingerprints.of(replace(finding, at=at)), finding


def _from_script(path: str, script: str) -> str:
    if path == script:
        return "the script"
    folder = os.path.dirname(script)
    if folder and path.startswith(folder + os.sep):
        return path[len(folder) + 1 :]
    return path


def _trend(before: tuple[Finding, Verdict], after: tuple[Finding, Verdict]) -> int:
    shares = [_share(*one) for one in (before, after)]
    if None not in shares:
        was, now = (share or 0.0 for share in shares)
        return 0 if abs(now - was) < ALIKE else 1 if now > was else -1
    counts = before[0].count, after[0].count
    return (counts[1] > counts[0]) - (counts[1] < counts[0])


def _share(finding: Finding, verdict: Verdict) -> float | None:
    total = occurrences(finding, verdict)
    return finding.count / total if total else None
