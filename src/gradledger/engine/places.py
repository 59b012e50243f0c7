"""The line of the user's code at which something happens."""

from __future__ import annotations

import sys
from pathlib import Path

_OURS = str(Path(__file__).parent)


def outside() -> int:
    """The stacklevel, as seen by the caller, of the first frame that is not the engine's."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        level, frame = level + 1, frame.f_back
    return level
