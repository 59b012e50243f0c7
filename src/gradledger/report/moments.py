"""When each mark of a chronicle was made.

A chronicle keeps the time of each turn's end, which is all that most reports need.
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

    Where the run goes on there may be more than the chronicle has marks: it was told earlier.
    """
    return array("q", (recorded.ns for recorded in recording.events(*MARKED)))
