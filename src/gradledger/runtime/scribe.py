"""Writes down all that a report needs, as soon as it is known: a run may be killed at any time."""

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
from gradledger.recording import Recorder, RunInfo
from gradledger.recording.fingerprints import note_fingerprint
from gradledger.runtime.journal import Journal
from gradledger.runtime.measuring import Measured
from gradledger.runtime.optimizers import Optimizers
from gradledger.runtime.replicas import Replicas
from gradledger.runtime.unfailing import in_words


class Scribe:
    """Listens to an audit, and hands what it hears to a recorder."""

    def __init__(self, recorder: Recorder, journal: Journal, subject: str) -> None:
        self._recorder = recorder
        self._places = journal.places
        self._known: set[str] = set()
        """Files whose source is written down."""
        if subject:
            recorder.remark("subject", subject)
        journal.heard.append(self._hear)
        journal.failed.append(self._failed)

    def listen(self, optimizers: Optimizers, replicas: Replicas) -> None:
        """Hear also what is told besides events."""
        optimizers.named.append(self._named)
        optimizers.backwards.weighs_all = True
        replicas.printed.append(self._printed)

    def _hear(self, event: Event, findings: tuple[Finding, ...]) -> None:
        self._recorder.record(event)
        if event.at.path not in self._known:
            self._read(event.at.path)
        for finding in findings:
            self._recorder.note_finding(finding)
            for place in finding.places:
                if place.path not in self._known:
                    self._read(place.path)

    def _read(self, path: str) -> None:
        self._known.add(path)
        self._recorder.source(path, self._places.source(path).text)

    def _named(self, optimizer: str, variable: str) -> None:
        self._recorder.remark("called", variable, name=optimizer)

    def _failed(self, error: Exception) -> None:
        self._recorder.remark("trouble", in_words(error))

    def measured(self, told: Measured) -> None:
        """Take the numbers of a step."""
        values = told.cells if told.total is None else {"": told.total, **told.cells}
        self._recorder.measure_each(
            told.name, values, step=told.step, optimizer=told.optimizer, event=told.event
        )

    def _printed(self, at: Place, step: int, prints: Mapping[str, int]) -> None:
        note_fingerprint(self._recorder, at, step, prints)


def this_run(main: str | None) -> RunInfo:
    """What runs here, with what, as which rank."""
    elastic = ("TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT")
    return RunInfo(
        main or (sys.argv[0] if sys.argv else ""),
        tuple(sys.argv[1:]),
        {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "gradledger": version("gradledger"),
        },
        int(os.environ.get("RANK", "0")),
        int(os.environ.get("WORLD_SIZE", "1")),
        " ".join(os.environ[name] for name in elastic if name in os.environ),
    )
