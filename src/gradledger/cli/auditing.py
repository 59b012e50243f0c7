"""One audited run: from the import of torch to the verdict."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from gradledger.cli.delivery import Streams, to_file
from gradledger.cli.summary import Summary
from gradledger.errors import GradledgerError
from gradledger.ledger.unseen import Unseen
from gradledger.ledger.verdict import Verdict
from gradledger.recording.paths import rank_path
from gradledger.rules.ranks import Testimony, merged
from gradledger.runtime.children.meeting import Options
from gradledger.runtime.children.parent import Parent
from gradledger.runtime.processes.exit_causes import end_of
from gradledger.runtime.processes.rank_verdict import HASTE, HESITATION, PATIENCE, Ranks
from gradledger.runtime.program.import_hooks import is_loaded

if TYPE_CHECKING:
    from gradledger.cli.panel.live import Live
    from gradledger.cli.reports import Reports
    from gradledger.runtime.audit import Audit
    from gradledger.runtime.outputs.tracker_sink import Sink

FAILED = 2


class Auditing:
    """The auditor of `gradledger run`, created before the script starts."""

    def __init__(
        self,
        subject: str,
        *,
        kept: frozenset[str],
        format: str = "text",
        quiet: bool = False,
        output: str | None = None,
        reports: Reports | None = None,
        fail_on: Literal["error", "warning", "unseen"] | None = None,
        sample: int | None = None,
        live: bool = False,
        summary: str | None = None,
        log: Sink | None = None,
    ) -> None:
        self._subject = subject
        self._kept = kept
        self._format = format
        self._quiet = quiet
        self._output = output
        self._reports = reports
        self._fail_on = fail_on
        self._sample = sample
        self._summary = Summary(summary)
        self._log = log
        self._folder, self._path = os.getcwd(), list(sys.path)
        self._streams = Streams()
        self._audit: Audit | None = None
        self._ranks = Ranks.of_this_launch()
        self._blind = False
        """Why the audit could not begin, if it couldn't."""
        self._parent: Parent | None = None
        self._live: Live | None = None
        if live and not (self._ranks and self._ranks.rank):  # ranks share a terminal
            from gradledger.cli.panel.live import Live

            self._live = Live(subject, kept=kept, every=sample or 1)

    @property
    def among_ranks(self) -> bool:
        """True if this is one rank of several."""
        return self._ranks is not None

    def reach_children(self) -> None:
        """From now on, processes that the program starts are audited as soon as they train."""
        try:
            record = self._reports.record if self._reports is not None else None
            self._parent = Parent(Options(self._subject, self._sample, record), self, self._ranks)
        except Exception:
            self._say_bug("processes that it starts are not audited")

    def abandon(self) -> None:
        """Called in a forked child: ends the audit that it inherited."""
        if self._audit is not None:
            self._audit.abandon()

    def begin(self) -> None:
        """Starts the audit. If that fails, the script still runs."""
        main = getattr(sys.modules["__main__"], "__file__", None)
        try:
            from gradledger.runtime.audit import Audit

            if self._ranks is not None:
                self._ranks.arrive()
            audit = Audit(
                record=self._record_of_rank(),
                sample=self._sample,
                main=Path(main) if main else None,
                subject=self._subject,
                sink=self._log if self._ranks is None or self._ranks.rank == 0 else None,
            )
            if self._live is not None:
                self._say_of_live(self._live.begin(audit))
            self._audit = audit.__enter__()
            if self._parent is not None:
                audit.journal.heard.append(self._parent.rank.hear)
            audit.stays_open_at_exit()
            if self._ranks is not None:
                from gradledger.runtime.processes.last_report import Notes

                audit.journal.heard.append(Notes(audit, self._ranks, self._subject).hear)
        except GradledgerError as error:
            self._end_live()
            self._blind = True
            self._say(f"gradledger: {self._subject} is not audited: {error}")
        except Exception:
            self._end_live()
            self._blind = True
            self._say_bug(f"{self._subject} is not audited")

    def begin_late(self) -> None:
        """The same if torch was already imported; reports what was missed."""
        missed = _passes_so_far()
        self.begin()
        if self._audit is not None and missed:
            why = "before gradledger noticed that torch was imported"
            self._audit.journal.not_seen("backwards", why, count=missed)

    def conclude(self, *, passed: bool, error: BaseException | None) -> int:
        """Ends the audit and delivers the verdict. Returns the status to exit with, or 0."""
        self._end_live()
        if self._blind:
            return FAILED if self._fail_on else 0
        try:
            verdict = self._close(error)
            if verdict is None:  # another rank reports for all
                return 0
            with self._as_before():
                self._deliver(verdict)
                self._report(verdict)
                if why := self._summary.write(verdict):
                    self._say(f"gradledger: {why}")
                self._say_of_log()
        except Exception:
            self._say_bug("there is no verdict")
            return FAILED if self._fail_on else 0
        if self._fail_on:
            from gradledger.report.balance import fails

            # A run that was not audited has not passed.
            return int(fails(verdict, self._fail_on)) or (FAILED if verdict.trouble else 0)
        return 0

    def _record_of_rank(self) -> Path | None:
        """Each rank has a recording of its own."""
        if self._reports is None or self._reports.record is None:
            return None
        rank, world = (self._ranks.rank, self._ranks.world) if self._ranks else (0, 1)
        return rank_path(self._reports.record, rank=rank, world_size=world)

    def _close(self, error: BaseException | None) -> Verdict | None:
        """The verdict on all ranks; None on ranks that leave reporting to rank 0."""
        verdict, fingerprints = Verdict(self._subject), []
        if self._audit is not None:  # torch was imported
            trace = error.__traceback__ if error is not None else None
            self._audit.__exit__(type(error) if error is not None else None, error, trace)
            verdict, fingerprints = self._audit.verdict(self._subject), self._audit.fingerprints
        elif missed := _passes_so_far():
            why = "torch was imported in a way that gradledger did not notice"
            verdict = verdict._replace(unseen=(Unseen("backwards", why, missed),))
        if self._parent is not None:
            of_all = self._parent.gather(verdict, fingerprints, error)
            if of_all is None:  # another machine reports for all
                return None
            verdict = of_all
        if self._ranks is not None and self._audit is not None:  # else it's no rank that trains
            testimony = Testimony(verdict, fingerprints, end_of(error))
            if not self._ranks.speaks():
                self._ranks.leave(testimony)
                if error is None or not self._ranks.speaks(HESITATION):
                    return None
            patience = PATIENCE if error is None else HASTE
            others = self._ranks.gather(patience)
            if self._audit.recording is not None:
                from gradledger.cli.lost_ranks import with_recordings

                own = self._audit.recording
                others = with_recordings(others, own=own, patience=patience)
            verdict = merged(testimony, others, self._ranks.world, rank=self._ranks.rank)
        kept = tuple(found for found in verdict.findings if found.rule in self._kept)
        return verdict._replace(findings=kept)

    def _deliver(self, verdict: Verdict) -> None:
        from gradledger.report import render

        def write(stream: TextIO) -> None:
            render(verdict, self._format, stream=stream, quiet=self._quiet)

        for_people = self._format in ("text", "concise")
        seen = verdict.findings or verdict.tally.entries
        if not (seen or verdict.trouble or verdict.unseen):
            runs = ", ".join(self._parent.own_runs) if self._parent is not None else ""
            own = f" Processes with a `gradledger run` of their own: {runs}." if runs else ""
            self._say(f"{self._subject} made no backward pass, so there was nothing to audit.{own}")
            if for_people and not self._output:
                return
        if not self._output:
            self._streams.write(write, error=for_people)
            return
        try:
            to_file(self._output, write)
        except OSError as error:
            self._say(f"gradledger: {self._output} can't be written: {error.strerror}. It was:")
            self._streams.write(write, error=True)

    def _report(self, verdict: Verdict) -> None:
        own = self._audit.recording if self._audit is not None else None
        of_children = self._parent.recordings if self._parent is not None else []
        if own is not None and of_children and self._audit and not self._audit.tally.entries:
            own.unlink(missing_ok=True)  # it has only started those that trained
            own = None
        recorded = [*([own] if own else []), *of_children]
        if self._reports is None or not recorded:
            return
        try:
            for said in self._reports.make(recorded[0], verdict):
                self._say(said)
            if not recorded[0].exists():  # they weren't requested, and the report is there
                for path in recorded:
                    path.unlink(missing_ok=True)
        except Exception:  # the verdict is already printed and remains valid
            self._say_bug("there is no report")

    def _say_of_log(self) -> None:
        feed = self._audit.feed if self._audit is not None else None
        if feed is not None and feed.failure is not None:
            why = f"{type(feed.failure).__name__}: {feed.failure}"
            self._say(f"gradledger: --log ended early, because the tracker failed: {why}")

    def _say(self, text: str) -> None:
        self._streams.write(lambda stream: print(text, file=stream), error=True)

    def _end_live(self) -> None:
        if self._live is not None:
            self._say_of_live(self._live.end())

    def _say_of_live(self, sentence: str) -> None:
        if sentence:
            self._say(f"gradledger: {sentence}")

    def _say_bug(self, outcome: str) -> None:
        self._say(
            f"{traceback.format_exc()}gradledger: {outcome}, because gradledger has a bug. Please "
            "report it with the lines above."
        )

    @contextlib.contextmanager
    def _as_before(self) -> Iterator[None]:
        """Resolves paths from the command's directory, and imports none of the script's modules."""
        there, path = None, sys.path[:]
        with contextlib.suppress(OSError):  # one of the two directories is gone
            there = os.getcwd()
            os.chdir(self._folder)
        sys.path[:] = self._path
        try:
            yield
        finally:
            sys.path[:] = path
            if there is not None:
                os.chdir(there)


def _passes_so_far() -> int:
    """How many backward passes this process has made so far, audited or not."""
    if not is_loaded("torch"):
        return 0
    from gradledger.runtime.journal.backward_counter import backward_count

    try:
        return backward_count()
    except Exception:  # torch is only partly imported, or a version that counts differently
        return 1
