"""The path that shows a fault, in rows by iteration. Iterations that are alike are joined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from gradledger.ledger.findings import Finding, WitnessStep
from gradledger.report.evidence import Row, at, called_from
from gradledger.report.sources import Sources
from gradledger.report.visible import visible

ENDS = 4
"""A long path shows this many rows from each end."""

Group = tuple[str, Sequence[WitnessStep]]
"""The steps of one iteration, and its name."""


def path(finding: Finding, sources: Sources) -> Iterator[Row]:
    """A row for each step. Code is shown where a place first appears."""
    rows = list(_rows(finding, sources))
    if len(rows) > 2 * ENDS + 1:
        left_out = len(rows) - 2 * ENDS
        rows[ENDS:-ENDS] = [Row("…", note=f"{left_out} more steps")]
    yield from rows


def _rows(finding: Finding, sources: Sources) -> Iterator[Row]:
    seen = set()
    notes = {(e.what, e.at): visible(e.note) for e in finding.evidence if e.note}
    for when, steps in _joined([(w, list(steps)) for w, steps in groupby(finding.witness, _when)]):
        for number, step in enumerate(steps):
            is_new = step.at not in seen
            seen.add(step.at)
            said = [notes.pop((step.what, step.at), ""), *called_from(step.at, finding)]
            yield Row(
                visible(step.what),
                at(step.at),
                sources.code(step.at) if is_new else "",
                ", ".join(filter(None, said)) if is_new else "",
                visible(when) if number == 0 else "",
            )


def _when(step: WitnessStep) -> str:
    return step.when


def _joined(groups: list[Group]) -> Iterator[Group]:
    """The iterations; consecutive ones that are alike are joined, except the last."""
    while groups:
        when, steps = groups[0]
        alike = 1
        while alike < len(groups) - 1 and _events(groups[alike][1]) == _events(steps):
            alike += 1
        last = groups[alike - 1][0].rpartition(" ")[2]
        unit, _, number = when.rpartition(" ")
        yield (f"{unit}s {number} to {last}" if alike > 1 and unit else when), steps
        groups = groups[alike:]


def _events(steps: Sequence[WitnessStep]) -> list[tuple[str, object]]:
    return [(step.what, step.at) for step in steps]
