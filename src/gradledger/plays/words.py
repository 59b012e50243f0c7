"""What each event is called."""

from __future__ import annotations

from gradledger.ledger.events import (
    Backward,
    Clear,
    Clip,
    Edit,
    EpochEnd,
    Event,
    Fault,
    Gone,
    Keep,
    Own,
    Read,
    Release,
    Replace,
    RunEnd,
    Schedule,
    Skipped,
    Step,
    Sync,
    Unscale,
    Update,
    Walk,
)

WORDS: dict[type[Event], str] = {
    Backward: "deposited",
    Step: "spent",
    Skipped: "skipped",
    Clear: "cleared",
    Edit: "changed",
    Clip: "clipped",
    Read: "read",
    Unscale: "unscaled",
    Update: "updated",
    Schedule: "scheduled",
    Sync: "averaged",
    Keep: "kept",
    Release: "released",
    Walk: "walked",
    Own: "owned",
    Replace: "replaced",
    Gone: "deleted",
    Fault: "broken off",
    EpochEnd: "ended",
    RunEnd: "ended",
}
"""What each event is called, in the words of the evidence."""
