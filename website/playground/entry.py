"""What the playground calls: text in, findings, cures and plays out, as JSON.

It runs in Pyodide, and in any Python that has gradledger on its path. Nothing that it imports needs
another package.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from gradledger.cli.checking import Outcome
from gradledger.cli.checking import check as check_all
from gradledger.cli.fixing import replaced
from gradledger.cli.settings import Settings
from gradledger.ledger.findings import Finding
from gradledger.policy.configuration import Configuration
from gradledger.report import as_json
from gradledger.report.evidence import Row, places
from gradledger.report.regions import Regions
from gradledger.report.sources import LINE_BREAK, Sources
from gradledger.report.witness import path as witness_rows
from gradledger.rules.ordering import ordered
from gradledger.rules.selection import codes
from gradledger.static.playing.play import plays as plays_of

NAME = "train.py"
"""What the text in the editor is called."""
SETTINGS = Settings(
    paths=(),
    stdin=NAME,
    kept=codes(select=(), ignore=()),
    configured=Configuration(),
    possible=False,
    report_unused=False,
    format="json",
    output=None,
    summary=None,
    statistics=False,
    unknown=False,
    quiet=False,
    fail_on="warning",
    exit_zero=False,
    baseline=None,
    write_baseline=False,
    jobs=None,
    cache=False,
    fix=False,
    diff=False,
)
"""As `gradledger check -` has them where nothing is configured."""


def check(text: str) -> str:
    """The document of `gradledger check --format json`, where each finding also has rows to read.

    A row's line counts from 1; a finding's `from` and `to` are places in its text, in UTF-16.
    """
    inspection = _checked(text).inspection
    document = as_json.document(inspection)
    sources = Sources(inspection.sources)
    spans = _Spans(text)
    for told, finding in zip(document["findings"], ordered(inspection.findings), strict=True):
        told["key"] = _key(finding)
        told["span"] = spans.of(finding)
        told["rows"] = [_row(row) for row in _rows(finding, sources)]
        told["granted"] = [*filter(None, [finding.condition]), *finding.granted]
    return json.dumps(document)


def fixes(text: str) -> str:
    """By a finding's key, the replacements of lines that are certain to cure it."""
    cures = replaced(SETTINGS, _checked(text))
    return json.dumps(
        {
            f"{rule}:{at.line}:{at.column}": [edit._asdict() for edit in edits]
            for (rule, at), edits in cures.items()
        }
    )


def plays(text: str) -> str:
    """What the player shows: a play for each part of the text that trains."""
    return json.dumps(plays_of(NAME, text))


@lru_cache(maxsize=1)
def _checked(text: str) -> Outcome:
    # Half of a character, which an editor may hold, has no UTF-8.
    return check_all(SETTINGS, stdin=text.encode("utf-8", "replace"))


def _key(finding: Finding) -> str:
    return f"{finding.rule}:{finding.at.line}:{finding.at.column}"


def _rows(finding: Finding, sources: Sources) -> Iterator[Row]:
    """The path that shows the fault, and what isn't on it; without a path, its places."""
    if not finding.witness:
        yield from places(finding, sources)
        return
    yield from witness_rows(finding, sources)
    on_it = {(step.what, step.at.line) for step in finding.witness}
    others = [e for e in finding.evidence if e.at is None or (e.what, e.at.line) not in on_it]
    yield from places(finding, sources, others)


def _row(row: Row) -> dict[str, Any]:
    line = row.where.rpartition(":")[2]
    return {
        "when": row.when,
        "what": row.what,
        "line": int(line) if line.isdecimal() else None,
        "code": row.code,
        "note": row.note,
    }


class _Spans:
    """Where in the text the code of a finding is, as JavaScript counts characters."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._regions = Regions({NAME: text})
        self._starts = [0, *(end.end() for end in LINE_BREAK.finditer(text))]

    def of(self, finding: Finding) -> list[int] | None:
        region = self._regions.of(finding.at)
        if region is None:
            return None
        return [
            self._units(self._starts[region.line - 1] + region.column),
            self._units(self._starts[region.end_line - 1] + region.end_column),
        ]

    def _units(self, letters: int) -> int:
        return len(self._text[:letters].encode("utf-16-le", "surrogatepass")) // 2
