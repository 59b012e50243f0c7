"""The latest report of each rank, kept for the others in case the rank dies."""

from __future__ import annotations

from time import monotonic
from typing import Protocol

from gradledger.ledger.events import Event, Step
from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.rules.ranks import Testimony
from gradledger.runtime.audit import Audit

INTERVAL = 0.2
"""Seconds between notes. A new fault is noted at once."""
SHARE = 100
"""Making notes takes at most one part of so many of the time."""


class Keeper(Protocol):
    """Where notes are kept."""

    def note(self, testimony: Testimony) -> None:
        """Leave what this rank or process would have to say if it died now."""


class Notes:
    """Hears the events of an audit, of one rank or of one process."""

    def __init__(self, audit: Audit, kept: Keeper, subject: str) -> None:
        self._audit = audit
        self._kept = kept
        self._subject = subject
        self._known: set[tuple[str, Place]] = set()
        self._due = 0.0

    def hear(self, event: Event, findings: tuple[Finding, ...]) -> None:
        """Told of each event."""
        new = {(found.rule, found.at) for found in findings} - self._known if findings else None
        if new or (isinstance(event, Step) and monotonic() >= self._due):
            self._known.update(new or ())
            self.take()

    def take(self) -> None:
        """Note it now."""
        began = monotonic()
        audit = self._audit
        self._kept.note(Testimony(audit.verdict(self._subject), audit.fingerprints))
        ended = monotonic()
        self._due = ended + max(INTERVAL, SHARE * (ended - began))
