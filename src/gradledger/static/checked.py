"""What came of checking a file."""

from __future__ import annotations

from gradledger.ledger.findings import Finding
from gradledger.ledger.tuples import NamedTuple
from gradledger.ledger.values import Value


class Unknown(NamedTuple):
    """Code that could not be followed: it is counted, and never called clean."""

    path: str
    line: int
    what: str
    """The function, as a person would call it."""
    why: str


class Checked(Value):
    """The findings of a file, certain and possible, and what in it is unknown."""

    findings: tuple[Finding, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    followed: int = 0
    """Functions and scripts with gradients in them that were followed from beginning to end."""
    training: tuple[str, ...] = ()
    """The names at its top level behind which gradients are deposited and spent: others call it."""
