"""A process that the audited program has started: it is audited as soon as it trains.

Nothing of it is seen from outside before its first backward pass. Then it notes what it finds, and
leaves it at its end, for the process that the audit began with.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from typing import TYPE_CHECKING

from gradledger.ledger.verdict import Verdict
from gradledger.rules.ranks import Testimony
from gradledger.runtime.children import rank
from gradledger.runtime.children.door._gradledger_door import Inheritance
from gradledger.runtime.children.ends import watch_ends
from gradledger.runtime.children.meeting import Seat, name_of_this_process
from gradledger.runtime.processes.exit_causes import end_of
from gradledger.runtime.processes.rank_verdict import HASTE, PATIENCE
from gradledger.runtime.processes.rendezvous import Machines
from gradledger.runtime.processes.sigterm import Terminated, before_termination
from gradledger.runtime.program.import_hooks import when_imported

if TYPE_CHECKING:
    from gradledger.ledger.events import Event
    from gradledger.ledger.findings import Finding
    from gradledger.runtime.audit import Audit
    from gradledger.runtime.children.triggers import Triggers


def enter(inheritance: Inheritance) -> None:
    """This process is a child by exec, and is about to load torch."""
    from gradledger.runtime.children import forks

    child = Child(inheritance)
    forks.follow(child)
    child.wait()


class Child:
    """The audit of one child, from before it trains to its end."""

    def __init__(self, inheritance: Inheritance, *, group: object = None) -> None:
        self._inheritance = inheritance
        self._inherited_group = group
        """The process group of the parent, which a fork has brought along."""
        self._process = os.getpid()
        self._seat = Seat(inheritance.folder)
        self._rank: rank.Rank | None = None
        self._triggers: Triggers | None = None
        self._audit: Audit | None = None
        self._told = False
        """It has left what it has to say, or has nothing to say."""

    # Beginning

    def wait(self) -> None:
        """Wait for torch, and then for the first sign of training."""
        when_imported("torch", self._torch_is_there)

    def _torch_is_there(self) -> None:
        if self._told or os.getpid() != self._process:  # another one audits this process
            return
        with contextlib.suppress(Exception):
            from gradledger.runtime.children.triggers import Triggers

            atexit.register(self._at_exit)
            self._claim(rank.told_by_launcher())
            self._triggers = Triggers(self._begin)

    def abandon(self) -> None:
        """Undo all, and say nothing: from now on another one audits this process."""
        self._told = True
        if self._triggers is not None:
            self._triggers.close()
        if self._audit is not None:
            self._audit.abandon()

    def _begin(self) -> None:
        """It begins to train. Where it can't be audited, it goes on, and the parent says so."""
        try:
            options = self._seat.options
        except (OSError, ValueError):  # the audit is over
            return
        try:
            from gradledger.runtime.audit import Audit
            from gradledger.runtime.children.tracebacks import hide_our_frames

            self._identify()
            audit = Audit(
                sample=options.sample,
                record=self._seat.record,
                main=_main_file(),
                subject=options.subject,
                rank=self._rank[:2] if self._rank else (0, 1),
            )
            self._audit = audit.__enter__()
            audit.stays_open_at_exit()
            self._seat.recording = str(audit.recording or "")
            audit.journal.heard.append(self._hear)
            watch_ends(self.finish)
            hide_our_frames()
        except Exception as error:
            self._seat.unseen(f"gradledger has a bug, {error!r}")

    def _hear(self, event: Event, findings: tuple[Finding, ...]) -> None:
        """Wait for the first backward pass."""
        from gradledger.ledger.events import Backward
        from gradledger.runtime.processes.last_report import Notes

        audit = self._audit
        if audit is not None and isinstance(event, Backward):
            self._identify()
            notes = Notes(audit, self._seat, "")
            heard = audit.journal.heard
            heard[heard.index(self._hear)] = notes.hear
            notes.take()
            before_termination(self._terminated)

    def _claim(self, found: rank.Rank | None) -> None:
        """Be this rank, unless the process that started this one is."""
        if found is not None and found.claim != self._inheritance.claimed:
            self._rank = found
            self._seat.rank = found.rank, found.world, found.launch
            if found == rank.told_by_launcher():
                Machines().announce(found.rank)
            self._inheritance.claimed = found.claim
            self._inheritance.put()

    def _identify(self) -> None:
        self._seat.name = name_of_this_process()
        if self._rank is None:
            self._claim(rank.told_by_group(self._inherited_group))

    # Ending

    def finish(self, error: BaseException | None, *, expected: bool = False) -> None:
        """Leave what there is to say. Only the first call counts."""
        audit, self._audit = self._audit, None
        if self._told or os.getpid() != self._process:
            return
        self._told = True
        with contextlib.suppress(Exception):
            if audit is None:
                verdict, fingerprints = Verdict(""), []
            else:
                self._identify()
                trace = error.__traceback__ if error is not None else None
                audit.__exit__(type(error) if error is not None else None, error, trace)
                verdict, fingerprints = audit.verdict(""), audit.fingerprints
            if self._rank or verdict.tally.entries or verdict.findings or verdict.unseen:
                end = "" if expected else end_of(error)
                self._leave(Testimony(verdict, fingerprints, end))
            elif audit is not None and audit.recording is not None:
                audit.recording.unlink()  # it has not trained

    def _leave(self, testimony: Testimony) -> None:
        """On the machine of rank 0, that one also brings what ranks on other machines said."""
        machines, number = Machines(), self._rank.rank if self._rank else None
        if number is None or self._rank != rank.told_by_launcher():
            self._seat.leave(testimony)
            return
        self._seat.elsewhere = machines.leave({number: testimony})
        self._seat.leave(testimony)
        if number == 0:
            patience = HASTE if testimony.end else PATIENCE
            others = machines.gather(range(machines.here, machines.world), patience)
            for other, said in others.items():
                self._seat.leave_for(other, said)

    def _at_exit(self) -> None:
        last = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
        self.finish(last if isinstance(last, BaseException) else None)

    def _terminated(self) -> bool:
        """SIGTERM would end the process. Of a worker that nobody waits for it is the usual end."""
        if self._told:
            return False
        self.finish(Terminated(), expected=self._rank is None and _is_daemon())
        return True


def _main_file() -> str | None:
    """The program's own file, as its code names it."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main is None and sys.argv and os.path.isfile(sys.argv[0]):
        # A spawned process runs the program's file by another name before it is `__main__`.
        main = os.path.abspath(sys.argv[0])
    return main


def _is_daemon() -> bool:
    process = sys.modules.get("multiprocessing.process")
    return process is not None and bool(process.current_process().daemon)
