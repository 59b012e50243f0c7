"""The process that an audit began with, which collects the reports of those that it started."""

from __future__ import annotations

from pathlib import Path

from gradledger.ledger.unseen import summed
from gradledger.ledger.verdict import Verdict
from gradledger.rules.processes import Heard, together
from gradledger.rules.ranks import Fingerprints, Testimony
from gradledger.runtime.children import forks, rank
from gradledger.runtime.children.meeting import PATIENCE, Meeting, Options
from gradledger.runtime.children.nested import leave_to_its_own_run
from gradledger.runtime.processes.exit_causes import end_of
from gradledger.runtime.processes.rank_verdict import HASTE, HESITATION, Ranks
from gradledger.runtime.processes.sigterm import Terminated


class Parent:
    """Reaches all processes that start from now on, until it has gathered what they say."""

    def __init__(self, options: Options, audited: forks.Audited, ranks: Ranks | None) -> None:
        named = (ranks.meeting_of(ranks.rank),) if ranks is not None else ()
        self._meeting = Meeting(options, *named)
        own = rank.told_by_launcher()
        self._is_rank = own is not None
        self._inheritance = self._meeting.inheritance(own.claim if own else "")
        self.rank = rank.OfThisProcess()
        """Hears the audit of this process."""
        self.own_runs: list[str] = []
        """Processes that a `gradledger run` of their own has audited."""
        self.recordings: list[Path] = []
        """Of the processes that trained, those of the first ranks first."""
        leave_to_its_own_run()
        self._inheritance.started.append(forks.started)
        self._inheritance.begin()
        forks.follow(audited)

    def gather(
        self, verdict: Verdict, fingerprints: Fingerprints, error: BaseException | None
    ) -> Verdict | None:
        """This process's verdict with those of all others.

        None where rank 0 is on another machine, which speaks for all.
        """
        self._inheritance.end()
        try:
            children = self._meeting.gather(_patience(error))
            unseen = list(self._meeting.unseen())
            self.own_runs = self._meeting.own_runs()
        finally:
            self._meeting.close()
        recorded = sorted((heard.rank or 0, heard.recording) for heard in children)
        self.recordings = [Path(path) for _, path in recorded if path]
        if children and all(heard.elsewhere for heard in children):
            return None
        if children and self.rank.found is not None and not self._is_rank:
            # A framework has started the other ranks from this one.
            number, world, launch = self.rank.found
            said = Testimony(verdict, fingerprints, end_of(error))
            children.insert(0, Heard(verdict.subject, 0, number, world, launch, said))
            verdict = Verdict(verdict.subject, seconds=verdict.seconds)
        verdict = verdict._replace(unseen=summed((*verdict.unseen, *unseen)))
        return together(verdict, children)


def _patience(error: BaseException | None) -> float:
    """Seconds that are waited for children that go on."""
    if error is None:
        return PATIENCE
    return HESITATION if isinstance(error, Terminated) else HASTE
