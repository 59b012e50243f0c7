"""Tables about the run as a whole, and about its findings."""

from __future__ import annotations

import json
from collections import Counter

from gradledger.ledger.outcomes import Tally
from gradledger.ledger.verdict import Verdict
from gradledger.recording import Recording
from gradledger.report.as_json import document, whole
from gradledger.report.chronicle import NOBODY, Chronicle, windows
from gradledger.report.labels import labels
from gradledger.report.paths import shown
from gradledger.report.tables.comma_separated import Rows

PROCESS = "world_size script arguments versions started_at seconds ended unrecorded " + " ".join(
    Tally._fields
)
FINDING = (
    "finding", "rule", "name", "severity", "path", "cell", "line", "column", "message", "detail",
    "fix", "count", "occurrences", "parameters",
)  # fmt: skip
EVIDENCE = ("finding", "rule", "what", "path", "cell", "line", "column", "note")


def process(chronicle: Chronicle, recording: Recording) -> Rows:
    """One row."""
    run = chronicle.run
    yield (
        run.world_size,
        shown(run.script),
        json.dumps([whole(word) for word in run.argv]),
        "; ".join(f"{name} {version}" for name, version in run.versions.items()),
        run.started_at.isoformat(),
        chronicle.seconds,
        chronicle.ended,
        chronicle.lost,
        *chronicle.verdict.tally,
    )


def optimizers(chronicle: Chronicle, recording: Recording) -> Rows:
    """In the order in which they were made."""
    done = Counter((window.lane, window.skipped) for window in windows(chronicle))
    for number, (lane, label) in enumerate(zip(chronicle.lanes, labels(chronicle), strict=True)):
        if lane.name == NOBODY:
            continue
        at = lane.made_at
        where = (shown(at.path), at.line) if at else (None, None)
        yield label, lane.parameters, *where, done[number, False], done[number, True]


def findings(verdict: Verdict) -> Rows:
    """Worst first, numbered from 1."""
    for number, finding in enumerate(document(verdict)["findings"], 1):
        named = {**finding, "finding": number, "parameters": "; ".join(finding["parameters"])}
        yield [named[column] for column in FINDING]


def evidence(verdict: Verdict) -> Rows:
    """All of it, in the order of the findings."""
    for number, finding in enumerate(document(verdict)["findings"], 1):
        for one in finding["evidence"]:
            named = {**one, "finding": number, "rule": finding["rule"]}
            yield [named[column] for column in EVIDENCE]
