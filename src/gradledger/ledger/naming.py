"""The program's own names for its optimizers and scalers, in place of the ledger's."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gradledger.ledger.findings import Finding
from gradledger.ledger.values import replace

Names = Mapping[str, str]
"""What the program calls each."""


def spelled(finding: Finding, names: Names) -> Finding:
    """The same finding in the program's words."""

    def words(text: str) -> str:
        for name, called in names.items():
            # A function, as a backslash in a name would mean something in a template.
            text = re.sub(rf"\b{re.escape(name)}\b", lambda _, called=called: called, text)  # type: ignore[misc]
        return text

    evidence = tuple(replace(e, note=words(e.note)) for e in finding.evidence)
    return replace(finding, detail=words(finding.detail), evidence=evidence)
