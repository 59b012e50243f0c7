"""Each wrapper, used rightly in all ways and with each fault."""

from __future__ import annotations

from tests.runtime.sharded.loop import FAULTS, OF_SYNC, OPTIONS
from tests.runtime.sharded.wrappers import ALONE, REFUSES, UNSYNCED, WRAPPERS

Case = tuple[str, tuple[str, ...]]
"""A wrapper, and what is done with it."""

RIGHT: dict[str, Case] = {
    f"{wrapper}, {' and '.join(how) or 'plain'}": (wrapper, how)
    for wrapper in WRAPPERS
    for how in OPTIONS
}
COUNTED = [("clip",)]
"""Where what the ranks exchange is counted."""
WRONG: dict[str, Case] = {
    f"{wrapper}, {fault}": (wrapper, (fault,))
    for wrapper in WRAPPERS
    for fault in FAULTS
    if not (fault in OF_SYNC and wrapper in UNSYNCED)
    and not (fault == "no sync at all" and wrapper in REFUSES)
    and not (fault == "sync in each micro-batch" and wrapper in ALONE)
}
CASES = RIGHT | WRONG
