"""The time of each mark of a chronicle.

A chronicle only keeps the time at which each turn ended, which is enough for most reports.
"""

from __future__ import annotations

from array import array

from gradledger.ledger.events import (
    Backward,
    Clear,
    Clip,
    Edit,
    EpochEnd,
    Fault,
    RunEnd,
    Schedule,
    Skipped,
    Step,
    Sync,
    Unscale,
    Update,
)
from gradledger.recording import Recording

MARKED = (
    Backward, Clear, Clip, Edit, EpochEnd, Fault, RunEnd, Schedule, Skipped, Step, Sync, Unscale,
    Update,
)  # fmt: skip
"""Events that leave a mark, one each."""


def moments(recording: Recording) -> array[int]:
    """Nanoseconds since the start, for each mark in order through all turns.

    There may be more than the chronicle has marks, if it was read earlier and the run goes on.
    """
    return array("q", (recorded.ns for recorded in recording.events(*MARKED)))
