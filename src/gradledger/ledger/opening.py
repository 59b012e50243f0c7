"""The first events of a run: enough for a small timeline, and no more than fits in memory."""

from __future__ import annotations

from gradledger.ledger.events import Event
from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place

MOST = 500
"""Events that are kept. A small timeline shows fewer."""


class Opening:
    """Listens to a journal until it has heard enough."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.found: dict[tuple[str, Place], int] = {}
        """For each finding, by rule and place, the index of the event that first showed it."""

    def hear(self, event: Event, findings: tuple[Finding, ...]) -> None:
        """An event was entered, and added to these findings."""
        if len(self.events) >= MOST:
            return
        for finding in findings:
            self.found.setdefault((finding.rule, finding.at), len(self.events))
        self.events.append(event)
