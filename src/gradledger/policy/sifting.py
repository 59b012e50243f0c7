"""Decides which findings are shown, and why the others are not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gradledger.ledger.findings import Finding, is_surer
from gradledger.policy import Policy
from gradledger.policy.configuration import Configuration
from gradledger.policy.library import Library
from gradledger.report.inspection import Suppressed
from gradledger.static.source.cell_places import file_and_cell
from gradledger.static.source.gitignore import FOLDER


class Sifted(NamedTuple):
    """Every finding that is sifted is in one of these."""

    shown: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...]
    unshown: int


def one_each(findings: Iterable[Finding]) -> list[Finding]:
    """A fault that was met from several files, once; as sure as it is from one of them."""
    best: dict[tuple[str, str, int, int], Finding] = {}
    for finding in findings:
        at = finding.at
        key = finding.rule, at.path, at.line, at.column
        if key not in best or is_surer(finding, best[key]):
            best[key] = finding
    return list(best.values())


def sift(findings: Iterable[Finding], policy: Policy, library: Library) -> Sifted:
    """Comments are asked about every finding, so that none of them passes for unused."""
    shown: list[Finding] = []
    suppressed: list[Suppressed] = []
    unshown = 0
    ignored_in = _per_file(policy)
    for finding in findings:
        file, _ = file_and_cell(finding.at.path)
        ignore = library.comments(file).of(finding.rule, library.line(finding.at))
        if finding.rule not in policy.kept or finding.rule in ignored_in(file):
            continue
        if finding.certainty == "possible" and not policy.possible:
            unshown += ignore is None
        elif ignore is None:
            shown.append(finding)
        else:
            by = library.place(file, ignore.line)
            suppressed.append(Suppressed(finding, by, ignore.reason))
    return Sifted(tuple(shown), tuple(suppressed), unshown)


def _per_file(policy: Policy) -> Callable[[str], frozenset[str]]:
    """The rules that the project's file tells to ignore in a file."""
    configured = policy.configured
    if not configured.per_file_ignores:
        return lambda file: frozenset()
    from gradledger.static.source.gitignore import Ignores

    patterns = [(Ignores([glob]), codes) for glob, codes in configured.per_file_ignores]
    known: dict[str, frozenset[str]] = {}

    def ignored(file: str) -> frozenset[str]:
        if file not in known:
            names = _way(file, configured.folder)
            meant = (codes for glob, codes in patterns if any(map(glob.verdict, names)))
            known[file] = frozenset().union(*meant)
        return known[file]

    return ignored


def is_excluded(file: str, configured: Configuration) -> bool:
    """Whether an `exclude` pattern of the project's file means this one, or a folder above it."""
    if not configured.exclude:
        return False
    from gradledger.static.source.gitignore import Ignores

    return any(map(Ignores(configured.exclude).verdict, _way(file, configured.folder)))


def _way(file: str, folder: str) -> list[str]:
    """The path from the folder, after those of the folders on the way: a pattern may mean one."""
    try:
        steps = os.path.relpath(file, folder).split(os.sep)
    except ValueError:  # another drive
        return []
    above = ["/".join(steps[: n + 1]) + FOLDER for n in range(len(steps) - 1)]
    return [*above, "/".join(steps)]
