"""The warning that a run can't be recorded completely."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path


class RecordingWarning(UserWarning):
    """The run goes on, but not all of it is recorded."""


def warn(path: Path, reason: str) -> None:
    """Say what happened, why, and what to do. Never raises."""
    message = (
        f"{path} does not hold all of this run: {reason}. The run itself goes on. To record it "
        "whole, start it again with a path that can be written to, on a disk that has room."
    )
    try:
        warnings.warn(message, RecordingWarning, stacklevel=4)
    except RecordingWarning:  # under -W error: a recording is never worth a training run
        print(f"gradledger: {message}", file=sys.stderr)
