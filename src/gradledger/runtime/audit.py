"""`audit()`: keeps the books on everything that torch does inside."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Literal

from gradledger.errors import LawBroken, OptionError
from gradledger.ledger.book import Book
from gradledger.ledger.events import Declare, Event, Read, RunEnd, Traits
from gradledger.ledger.findings import Displayed, Finding
from gradledger.ledger.naming import spelled
from gradledger.ledger.opening import Opening
from gradledger.ledger.outcomes import Tally
from gradledger.ledger.places import Place
from gradledger.ledger.unseen import Unseen
from gradledger.ledger.verdict import Verdict
from gradledger.recording import Recorder
from gradledger.rules import YIELDS_TO, Severity, find, judge
from gradledger.rules.framework_cures import cured, fix
from gradledger.rules.ordering import ordered
from gradledger.rules.ranks import Fingerprints
from gradledger.runtime.backward.backwards import Backwards
from gradledger.runtime.backward.compiler_skips import CompilerSkips
from gradledger.runtime.backward.kept_graphs import KeptGraphs
from gradledger.runtime.distributed.replicas import Replicas
from gradledger.runtime.distributed.rpc_autograd import RpcAutograd
from gradledger.runtime.frameworks.accelerate import Accelerate
from gradledger.runtime.frameworks.deepspeed_zero import Zero
from gradledger.runtime.frameworks.pipelining import Pipelining
from gradledger.runtime.frameworks.stepper import Steppers
from gradledger.runtime.gradients.clears import Clears
from gradledger.runtime.gradients.clip_limits import ClipLimits
from gradledger.runtime.gradients.clips import Clips
from gradledger.runtime.gradients.device_checks import DeviceChecks
from gradledger.runtime.gradients.manual_edits import ManualEdits
from gradledger.runtime.gradients.missing_gradients import without_gradient
from gradledger.runtime.gradients.scalers import Scalers
from gradledger.runtime.journal.crash_guard import in_words
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.journal.patches import Patches
from gradledger.runtime.loops.caught_exceptions import CaughtExceptions
from gradledger.runtime.loops.data_loaders import Loaders
from gradledger.runtime.loops.step_sampling import Sampling
from gradledger.runtime.optimizers.low_precision import Precision
from gradledger.runtime.optimizers.optimizers import Optimizers
from gradledger.runtime.optimizers.replaced_parameters import Modules
from gradledger.runtime.optimizers.schedulers import Schedulers
from gradledger.runtime.optimizers.swapped_tensors import SwappedTensors
from gradledger.runtime.outputs.event_writer import EventWriter, this_run
from gradledger.runtime.outputs.measurements import Measured, Measuring
from gradledger.runtime.outputs.tracker_sink import Sink, SinkFeed
from gradledger.runtime.program.notebook_cells import in_notebook
from gradledger.runtime.program.places import Places
from gradledger.runtime.tensors import torch_names

RaiseOn = Literal["error", "warning"]


class Audit(Displayed):
    """The books of everything that happens between entering and leaving it."""

    def __init__(
        self,
        *,
        raise_on: RaiseOn | None = None,
        record: str | os.PathLike[str] | None = None,
        sample: int | None = None,
        main: str | os.PathLike[str] | None = None,
        subject: str = "",
        rank: tuple[int, int] | None = None,
        sink: Sink | None = None,
    ) -> None:
        if raise_on not in (None, "error", "warning"):
            raise OptionError(f"raise_on must be 'error' or 'warning', got {raise_on!r}")
        if sample is not None and sample < 1:
            raise OptionError(f"sample must be at least 1, got {sample}. 1 audits every step.")
        self._raises = {
            None: frozenset[Severity](),
            "error": frozenset({Severity.ERROR}),
            "warning": frozenset({Severity.ERROR, Severity.WARNING}),
        }[raise_on]
        self._record = record
        self._rank = rank
        """Its number and of how many, where the environment does not tell."""
        self._sample = sample
        self._main = None if main is None else os.fspath(main)
        self._subject = subject
        self._book = Book(judge, yields_to=YIELDS_TO)
        self.journal = Journal(self._book, Places(self._main))
        self._patches = Patches()
        self._replicas = Replicas(self.journal)
        self._backwards: Backwards | None = None
        self._optimizers: Optimizers | None = None
        self._recorder: Recorder | None = None
        self.measured: list[Callable[[Measured], None]] = []
        """Told what steps spend and move; before it is entered, or nothing is measured."""
        self._measuring: Measuring | None = None
        self.feed = None if sink is None else SinkFeed(sink, lambda: self.names)
        """What hands numbers and findings to the sink, if there is one."""
        self._writer: EventWriter | None = None
        self.opening = Opening() if in_notebook() else None
        """The first events, for the timeline under a cell."""
        self._started = self._ended = 0.0

    # Entering and leaving

    def __enter__(self) -> Audit:
        if self._started:
            raise OptionError("an audit can be entered only once. Call audit() again for another.")
        self._started = monotonic()
        if self._record is not None:
            self._recorder = Recorder(self._record, run=this_run(self._main, self._rank))
            self._writer = EventWriter(self._recorder, self.journal, self._subject)
            self.measured.append(self._writer.measured)
        if self.feed is not None:
            self.measured.append(self.feed.measured)
            self.journal.heard.append(self.feed.hear)
            self.journal.told_late.append(self.feed.hear_late)
        try:
            self._watch(self._patches)
        except BaseException:
            self._patches.close()
            raise
        if self.opening is not None:
            self.journal.heard.append(self.opening.hear)
        if self._raises:  # when all others have heard
            self.journal.heard.append(self._raise)
            self.journal.told_late.append(self._raise)
        return self

    def _watch(self, patches: Patches) -> None:
        journal = self.journal
        kept, precision = KeptGraphs(journal), Precision(journal)
        self._backwards = backwards = Backwards(journal, kept, self._replicas)
        self._optimizers = optimizers = Optimizers(journal, backwards, precision)
        loaders, scalers = Loaders(journal, backwards), Scalers(journal, optimizers)
        schedulers = Schedulers(journal, optimizers)
        clips = Clips(journal, ClipLimits(journal, scalers))
        checks, measuring = DeviceChecks(journal, optimizers), None
        if self.measured:
            measuring = self._measuring = Measuring(journal, optimizers, scalers, self.measured)
            backwards.began.append(measuring.losses.begins)
            clips.begins.append(measuring.clips)
        backwards.accumulated.append(precision.deposited)
        self._replicas.found.append(lambda: optimizers.stepped.append(self._replicas.stepped))
        if self._writer is not None:
            self._writer.listen(optimizers, self._replicas)
        if self._sample is not None and self._sample > 1:
            Sampling(journal, optimizers, self._sample)
        for watcher in (
            backwards,
            optimizers,
            precision,
            checks,
            Clears(journal, backwards, optimizers, checks),
            scalers,
            schedulers,
            clips,
            loaders,
            Modules(journal),
            self._replicas,
            ManualEdits(journal, backwards),
            CaughtExceptions(journal, backwards),
            Accelerate(journal, backwards, loaders, schedulers),
            Steppers(journal, optimizers, measuring),
            CompilerSkips(journal),
            SwappedTensors(journal),
            Zero(journal, optimizers),
            Pipelining(journal, backwards),
            RpcAutograd(journal),
        ):
            watcher.watch(patches)
        for name, why in torch_names.reasons().items():
            journal.not_seen("parts", why, names=(name,))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._patches.close()
            if isinstance(error, LawBroken):
                self.journal.places.end_at_users_line(traceback)
            else:
                self._close(error)
        finally:
            self.journal.asleep = self.journal.closed = True
            for let_go in self.journal.let_go:
                let_go()
            self._ended = monotonic()
            if self._measuring is not None:
                self._measuring.finish()
            if self.feed is not None:
                self.feed.finish()
            if self._recorder is not None:
                self._recorder.close()

    def _close(self, error: BaseException | None) -> None:
        """The end of the run; before it the reason, if that was a gradient that is not there."""
        journal = self.journal
        if journal.closed:  # in a forked child
            return
        journal.asleep = False
        at = journal.places.here()
        crashed = error is not None and not (isinstance(error, SystemExit) and not error.code)
        if error is not None and crashed:
            at = journal.places.in_traceback(error.__traceback__) or at
            self._explain(error, at)
        raises, self._raises = self._raises, frozenset()
        journal.later.finish()
        waited = {(finding.rule, finding.at) for finding in journal.waiting}
        self._replicas.end()
        if self._backwards is not None:
            self._backwards.end(error if crashed else None, at)
        journal.post(RunEnd(at, crashed=crashed))
        if error is None:
            self._raise_late(raises, waited)

    def _explain(self, error: BaseException, at: Place) -> None:
        journal, cells = self.journal, self.journal.cells
        if not isinstance(error, AttributeError | TypeError) or "NoneType" not in str(error):
            return
        if ".grad" not in journal.places.source(at.path).text_at(at.line):
            return
        states = zip(cells.names, cells.look(), strict=True)
        missing = frozenset(name for name, state in states if state is None)
        found = dict(without_gradient(error, journal.places))
        if found and all(cells.slot(tensor) is None for tensor in found.values()):
            # What is no parameter, or has met no backward so far, is in no book.
            missing = frozenset(found) - frozenset(cells.names)
            journal.post(Declare(at, missing, Traits(parameter=False)))
        if missing:
            journal.post(Read(at, missing, needed=True))

    # Listening

    def _raise(self, event: Event, findings: tuple[Finding, ...]) -> None:
        for finding in findings:
            rule = find(finding.rule)
            if rule.severity in self._raises and finding in self._book.findings:
                spelled = self._spelled(finding)
                raise LawBroken(in_a_sentence(spelled), spelled)

    def _raise_late(self, raises: frozenset[Severity], waited: set[tuple[str, Place]]) -> None:
        """Raise for what could be told only at the end; what else the end brings is no surprise."""
        for finding in self.findings:
            if (finding.rule, finding.at) in waited and find(finding.rule).severity in raises:
                raise LawBroken(in_a_sentence(finding), finding)

    def abandon(self) -> None:
        """Undo all that was patched, and say nothing: in a fork, the books are the parent's."""
        self.journal.asleep = self.journal.closed = True
        self._patches.close()

    def stays_open_at_exit(self) -> None:
        """Whoever entered it will leave it, after the program's own exit functions."""
        if self._recorder is not None:
            atexit.unregister(self._recorder.close)

    # Asking

    @property
    def findings(self) -> tuple[Finding, ...]:
        """One per fault and place, the worst first."""
        waits = self.journal.waits
        told = (finding for finding in self._book.findings if finding.rule not in waits)
        return tuple(ordered(map(self._spelled, told)))

    def _spelled(self, finding: Finding) -> Finding:
        """With the program's own names for its optimizers, and a cure that can be done there."""
        return cured(spelled(finding, self.names), self.journal.frameworks)

    @property
    def names(self) -> dict[str, str]:
        """What the program calls its optimizers, scalers and schedulers, as far as it used them."""
        return self._optimizers.spelled if self._optimizers is not None else {}

    @property
    def tally(self) -> Tally:
        """What was deposited, spent, lost and wasted."""
        return self._book.tally

    @property
    def unseen(self) -> tuple[Unseen, ...]:
        """What happened and could not be seen, and why; no finding is no proof as to these."""
        return self.journal.unseen

    @property
    def fingerprints(self) -> Fingerprints:
        """What replicas looked like after which steps, for other ranks to compare."""
        return self._replicas.taken

    @property
    def recording(self) -> Path | None:
        """Where the run is recorded, if it is."""
        return None if self._recorder is None else self._recorder.path

    def verdict(self, subject: str) -> Verdict:
        """All that there is to say."""
        journal = self.journal
        with journal.entering:  # another thread may be at work
            paths = {p.path for f in self.findings for at in f.places for p in at.way}
            paths |= {at.path for at, _, _ in self.fingerprints}
            return Verdict(
                subject,
                self.findings,
                self.tally,
                journal.parameters,
                self._book.occurrences,
                {path: journal.places.source(path).text for path in paths},
                (self._ended or monotonic()) - self._started,
                trouble=in_words(journal.failure),
                unseen=journal.unseen,
            )


def audit(
    *,
    raise_on: RaiseOn | None = None,
    record: str | os.PathLike[str] | None = None,
    sample: int | None = None,
    sink: Sink | None = None,
) -> Audit:
    """Keeps the books on all that torch does inside: `with gradledger.audit() as book:`.

    `book.findings` has what broke a law, `book.unseen` what could not be judged. With
    `raise_on="error"` (or `"warning"`), the line that breaks one raises `LawBroken` there and then.
    `record` writes the run to a file. `sample=N` audits the first steps, and every Nth after that.
    `sink` gets norms, window sizes, skipped steps and findings as they happen.
    """
    return Audit(raise_on=raise_on, record=record, sample=sample, sink=sink)


def in_a_sentence(finding: Finding) -> str:
    """What was found, where, by which evidence, and how to fix it."""
    rule = find(finding.rule)
    seen = [f"{e.what} {e.at or e.note}" for e in finding.told]
    told = "; ".join([finding.detail, *seen])
    return (
        f"{finding.at}: {rule.code} {rule.name}: {rule.says} ({told}). To fix it, {fix(finding)}."
    )
