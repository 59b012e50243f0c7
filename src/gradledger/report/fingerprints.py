"""Fingerprints: they identify a finding from one report to the next."""

from __future__ import annotations

import os
from collections import Counter
from hashlib import sha256

from gradledger.ledger.findings import Finding
from gradledger.report.paths import cell_of, shown
from gradledger.report.sources import Sources


class Fingerprints:
    """The same fault has the same fingerprint after lines above it were added or removed.

    Faults on lines with the same text are distinguished by their order.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._seen = Counter[str]()

    def of(self, finding: Finding) -> str:
        """The finding's fingerprint; call it once per finding, in the order of the report."""
        code = self._sources.code(finding.at) or str(finding.at.line)
        # Without the number of a notebook cell: cells are added and removed, as lines are.
        path = shown(cell_of(finding.at.path)[0]).replace(os.sep, "/")
        known_by = "\n".join((finding.rule, path, code))
        self._seen[known_by] += 1
        counted = f"{known_by}\n{self._seen[known_by]}"
        return sha256(counted.encode("utf-8", "replace")).hexdigest()[:32]
