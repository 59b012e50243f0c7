"""Records everything that a report needs as soon as it is known: a run may be killed anytime."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from importlib.metadata import version

import torch

from gradledger.ledger.events import Event
from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.ledger.unseen import Unseen
from gradledger.recording import Recorder, RunInfo
from gradledger.recording.fingerprints import note_fingerprint
from gradledger.recording.unseen import note_unseen
from gradledger.rules.framework_cures import cured
from gradledger.runtime.distributed.replicas import Replicas
from gradledger.runtime.journal.crash_guard import in_words
from gradledger.runtime.journal.journal import Journal
from gradledger.runtime.optimizers.optimizers import Optimizers
from gradledger.runtime.outputs.measurements import Measured


class EventWriter:
    """Listens to an audit, and hands what it hears to a recorder."""

    def __init__(self, recorder: Recorder, journal: Journal, subject: str) -> None:
        self._recorder = recorder
        self._places = journal.places
        self._frameworks = journal.frameworks
        self._known: set[str] = set()
        """Files whose source is written down."""
        if subject:
            recorder.remark("subject", subject)
        journal.heard.append(self._hear)
        journal.told_late.append(self._hear_late)
        journal.failed.append(self._failed)
        journal.overlooked.told.append(self._overlooked)

    def listen(self, optimizers: Optimizers, replicas: Replicas) -> None:
        """Hear also what is told besides events."""
        optimizers.named.append(self._named)
        optimizers.backwards.weighs_all = True
        replicas.printed.append(self._printed)

    def _hear(self, event: Event, findings: tuple[Finding, ...]) -> None:
        self._recorder.record(event)
        self._read(event.at)
        self._hear_late(event, findings)

    def _hear_late(self, event: Event, findings: tuple[Finding, ...]) -> None:
        """Findings about an event that is written down already."""
        for finding in findings:
            self._recorder.note_finding(cured(finding, self._frameworks))
            for place in finding.places:
                self._read(place)

    def _read(self, place: Place) -> None:
        for step in (place,) if place.via is None else place.way:
            if step.path not in self._known:
                self._known.add(step.path)
                self._recorder.source(step.path, self._places.source(step.path).text)

    def _named(self, optimizer: str, variable: str) -> None:
        self._recorder.remark("called", variable, name=optimizer)

    def _failed(self, error: Exception) -> None:
        self._recorder.remark("trouble", in_words(error))

    def _overlooked(self, unseen: Unseen) -> None:
        note_unseen(self._recorder, unseen)

    def measured(self, told: Measured) -> None:
        """Take the numbers of a step."""
        values = told.cells if told.total is None else {"": told.total, **told.cells}
        self._recorder.measure_each(
            told.name, values, step=told.step, optimizer=told.optimizer, event=told.event
        )

    def _printed(self, at: Place, step: int, prints: Mapping[str, int]) -> None:
        note_fingerprint(self._recorder, at, step, prints)


def this_run(main: str | None, rank: tuple[int, int] | None = None) -> RunInfo:
    """What runs here, with what, as which rank of how many; as the launcher says, if None."""
    told = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    elastic = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")
    return RunInfo(
        main or (sys.argv[0] if sys.argv else ""),
        tuple(sys.argv[1:]),
        {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "gradledger": version("gradledger"),
        },
        *(rank or told),
        " ".join(os.environ[name] for name in elastic if name in os.environ),
    )
