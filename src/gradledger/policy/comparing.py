"""Compares findings with those of a baseline."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gradledger.ledger.findings import Finding
from gradledger.policy import Policy
from gradledger.policy.library import Library
from gradledger.rules.ordering import ordered
from gradledger.static.source.cell_places import file_and_cell

if TYPE_CHECKING:
    from gradledger.policy.baseline import Baseline, Entry

LISTED = 10
"""So many entries that match nothing are listed; more are counted."""


class Compared(NamedTuple):
    """What is new, and how much is not."""

    new: tuple[Finding, ...]
    known: int = 0
    entries: tuple[Entry, ...] = ()
    """What they are known by, where a baseline is to be written."""
    remarks: tuple[str, ...] = ()


def compare(
    findings: Iterable[Finding],
    policy: Policy,
    library: Library,
    files: Sequence[str],
    *,
    write: bool = False,
) -> Compared:
    """All is new, where there is no baseline, or one is to be written."""
    found = tuple(ordered(findings))
    if policy.baseline is None:
        return Compared(found)
    from gradledger.policy.baseline import read

    entries = tuple(_entries(found, policy.baseline, library))
    if write:
        return Compared(found, entries=entries)
    baseline = read(policy.baseline)
    new = tuple(f for f, e in zip(found, entries, strict=True) if not baseline.takes(e))
    remarks = _stale(baseline, policy, files)
    return Compared(new, len(found) - len(new), remarks=tuple(remarks))


def _entries(findings: Sequence[Finding], baseline: str, library: Library) -> Iterable[Entry]:
    from gradledger.policy.baseline import Entry, path_from
    from gradledger.report.sources import Sources

    sources, folder = Sources(library.texts(findings)), os.path.dirname(baseline) or "."
    for finding in findings:
        at = finding.at
        path = path_from(folder, file_and_cell(at.path)[0])
        code = " ".join(sources.code(at).split())
        yield Entry(finding.rule, path, library.function(at), code)


def _stale(baseline: Baseline, policy: Policy, files: Sequence[str]) -> list[str]:
    """Entries for nothing, among those that this check could have met."""
    from gradledger.policy.baseline import path_from

    name = policy.baseline or ""
    folder = os.path.dirname(name) or "."
    looked_at = {path_from(folder, path) for path in files}

    def was_looked_for(entry: Entry) -> bool:
        gone = not os.path.exists(os.path.join(folder, entry.path))
        return entry.rule in policy.kept and (gone or entry.path in looked_at)

    stale = baseline.stale(was_looked_for)
    told = [f"{name}: no longer found: {entry}" for entry in stale[:LISTED]]
    if len(stale) > LISTED:
        told.append(f"{name}: and {len(stale) - LISTED} more that are no longer found")
    if stale:
        told.append(f"{name}: --write-baseline drops what is no longer found")
    return told
