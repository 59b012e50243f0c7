"""What came of checking a file."""

from __future__ import annotations

from gradledger.ledger.findings import Finding
from gradledger.ledger.tuples import NamedTuple
from gradledger.ledger.values import Value
from gradledger.static.source.files import Trouble


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


class Result(NamedTuple):
    """What came of one file, with places as people see them (`nb.ipynb:cell 3`)."""

    checked: Checked = Checked()
    troubles: tuple[Trouble, ...] = ()
    """Why the file, or cells of it, could not be checked. What could be is in `checked`."""
    relevant: bool = True
    """False: a look at it said that there are no gradients in it; nothing to follow."""
    calls: bool = False
    """It says nothing of gradients, and was followed for what it calls in other files."""


IRRELEVANT = Result(relevant=False)
