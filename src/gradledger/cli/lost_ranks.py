"""Ranks that sent no report: what their recordings say instead."""

from __future__ import annotations

import contextlib
from pathlib import Path
from time import monotonic, sleep

from gradledger.cli.recordings import recordings
from gradledger.errors import GradledgerError
from gradledger.ledger.unseen import latest
from gradledger.ledger.verdict import Verdict
from gradledger.recording import Recording
from gradledger.report.chronicle import glimpse
from gradledger.rules.ranks import Testimony


def with_recordings(
    heard: dict[int, Testimony], *, own: Path, patience: float
) -> dict[int, Testimony]:
    """The reports of other ranks, with those of missing ranks made from their recordings.

    A missing rank has died, or runs on another machine, where it ends at about the same time.
    """
    found = dict(heard)
    deadline = monotonic() + patience
    with contextlib.suppress(GradledgerError, OSError):
        for path in recordings([str(own)])[1:]:
            with contextlib.suppress(GradledgerError, OSError), Recording(path) as recording:
                rank = recording.run.rank
                noted = heard.get(rank)
                if noted is None:
                    while not recording.ended and monotonic() < deadline:
                        sleep(0.1)
                    said = glimpse(recording)
                    found[rank] = said._replace(end="" if said.whole else "had not ended")
                elif not noted.whole:
                    found[rank] = _joined(noted, glimpse(recording))
    return found


def _joined(noted: Testimony, recorded: Testimony) -> Testimony:
    """Both combined: the last notes of a rank may not have reached its recording."""
    findings = {(f.rule, f.at): f for t in (noted, recorded) for f in t.verdict.findings}
    verdict: Verdict = noted.verdict._replace(
        findings=tuple(findings.values()),
        sources={**noted.verdict.sources, **recorded.verdict.sources},
        trouble=recorded.verdict.trouble or noted.verdict.trouble,
        unseen=latest(noted.verdict.unseen, recorded.verdict.unseen),
    )
    prints = max(noted.fingerprints, recorded.fingerprints, key=len)
    return noted._replace(verdict=verdict, fingerprints=prints)
