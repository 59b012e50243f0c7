"""`--live`: collects facts during an audited run, and shows them on a panel."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from gradledger.cli.panel.facts import Facts
from gradledger.cli.panel.panel import Panel
from gradledger.cli.panel.seen import Notes, Seen
from gradledger.ledger.events import Skipped, Step

if TYPE_CHECKING:
    from gradledger.runtime.audit import Audit

NO_TERMINAL = "--live needs a terminal to show anything, and there is none here"


class Live:
    """Created before the script starts. Without a terminal it does nothing, and says so once."""

    def __init__(self, subject: str, *, kept: frozenset[str], every: int = 1) -> None:
        self._subject = subject
        self._kept = kept
        self._every = every
        self._panel = Panel.at_hand()
        self._names: dict[str, str] = {}

    def begin(self, audit: Audit) -> str:
        """Shows what the audit, not yet entered, will see. What there is to say, if anything."""
        if self._panel is None:
            return f"{NO_TERMINAL}; {self._subject} runs as without it."
        journal = audit.journal
        notes = Notes(journal.book)
        journal.call_before((Skipped, Step), notes.foresee)
        journal.heard.append(notes.hear)
        audit.measured.append(notes.measured)
        seen = Seen(notes, self._subject, kept=self._kept, every=self._every)

        def facts() -> Facts:
            with contextlib.suppress(RuntimeError):  # one more came in just now: next time
                self._names = audit.names
            failed = journal.failure is not None
            return seen.facts(self._names, unseen=bool(journal.unseen), trouble=failed)

        self._panel.begin(facts)
        return ""

    def end(self) -> str:
        """Clears the screen of it. What there is to say, if anything."""
        if self._panel is None:
            return ""
        self._panel.end()
        failure, self._panel = self._panel.failure, None
        if failure is None:
            return ""
        return f"--live ended early, as gradledger has a bug, {failure!r}. Please report it."
