"""A finding in the text it is about, as a cure wants to know it."""

from __future__ import annotations

import os
from collections.abc import Callable

from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.static.fix.edits import Edits
from gradledger.static.fix.script import Script, Statement


class Fault:
    """A finding, its statement, and the statements that its evidence points at."""

    def __init__(self, script: Script, finding: Finding) -> None:
        self.script = script
        self.finding = finding
        self.statement = script.at(finding.at.line, finding.at.column)
        self._file = os.path.abspath(finding.at.path)

    def evidence(self, what: str) -> list[Statement]:
        """The statements of that evidence; none at all where one of them is not in this file."""
        places = [e.at for e in self.finding.evidence if e.what == what and e.at is not None]
        found = [self._at(place) for place in places]
        known = [statement for statement in found if statement is not None]
        return known if len(known) == len(found) else []

    def _at(self, place: Place) -> Statement | None:
        if os.path.abspath(place.path) != self._file:
            return None
        return self.script.at(place.line, place.column)


Cure = Callable[[Fault], Edits | None]
"""The edits that end a fault; None where it is not certain which these are."""
