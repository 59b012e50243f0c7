"""Fingerprints of replicas as remarks: one for each step that they were taken after."""

from __future__ import annotations

import json
from collections.abc import Mapping

from gradledger.ledger.places import Place
from gradledger.recording.recorder import Recorder

FINGERPRINT = "fingerprint"
"""The topic."""


def note_fingerprint(recorder: Recorder, at: Place, step: int, prints: Mapping[str, int]) -> None:
    """Take the fingerprints of the parameters after a step."""
    told = {"path": at.path, "line": at.line, "column": at.column, "prints": dict(prints)}
    recorder.remark(FINGERPRINT, json.dumps(told), name=str(step))


def decode_fingerprint(name: str, text: str) -> tuple[Place, int, dict[str, int]]:
    """The fingerprints that were recorded."""
    told = json.loads(text)
    return Place(told["path"], told["line"], told["column"]), int(name), told["prints"]
