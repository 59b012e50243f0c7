"""What a finding is known by from one report to the next."""

from __future__ import annotations

import os
from collections import Counter
from hashlib import sha256

from gradledger.ledger.findings import Finding
from gradledger.report.paths import cell_of, shown
from gradledger.report.sources import Sources


class Fingerprints:
    """The same for the same fault after lines above it came or went.

    Faults on lines that read alike are told apart by their order.
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._seen = Counter[str]()

    def of(self, finding: Finding) -> str:
        """The finding's fingerprint; ask for each finding once, in the order of the report."""
        code = self._sources.code(finding.at) or str(finding.at.line)
        # Without the number of a notebook's cell: cells come and go, as lines do.
        path = shown(cell_of(finding.at.path)[0]).replace(os.sep, "/")
        known_by = "\n".join((finding.rule, path, code))
        self._seen[known_by] += 1
        counted = f"{known_by}\n{self._seen[known_by]}"
        return sha256(counted.encode("utf-8", "replace")).hexdigest()[:32]
