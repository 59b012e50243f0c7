"""An inspection: the result of a check of source."""

from __future__ import annotations

from collections.abc import Mapping

from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.ledger.values import Value

POSSIBLE = "not on all paths through the code, or not all that it takes is in sight"
"""What is meant by a possible finding."""

LIKELY = "not on all paths through the code, but on those that most programs take"
"""What is meant by a likely finding."""

MEANINGS = {"possible": POSSIBLE, "likely": LIKELY}
"""The word shown for each certainty; a certain or observed finding needs none."""


class Unknown(Value):
    """Code that could not be followed, and so was not judged."""

    path: str
    line: int
    what: str
    why: str


class NotChecked(Value):
    """A file that could not be read or parsed."""

    path: str
    line: int
    why: str


class Suppressed(Value):
    """A finding that a comment in the source says to ignore."""

    finding: Finding
    by: Place
    """The place of the comment."""
    reason: str


class Inspection(Value):
    """What was found in source, what was looked at, and what was left out."""

    subject: str
    """What was checked, as written on the command line: `src notebook.ipynb`."""
    findings: tuple[Finding, ...] = ()
    """The findings to show, one per fault."""
    sources: Mapping[str, str] = {}
    """The text of each file, or cell of a notebook, that a finding points into."""
    unknown: tuple[Unknown, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    not_checked: tuple[NotChecked, ...] = ()
    files: int = 0
    """How many files were checked, including those without gradients."""
    followed: int = 0
    """How many functions and scripts that use gradients were followed to their end."""
    baselined: int = 0
    """How many findings are already in the baseline."""
    unshown: int = 0
    """How many possible findings are hidden (`--possible` shows them)."""
    seconds: float = 0.0
