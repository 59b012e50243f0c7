"""Each schedule, used rightly in all ways and with each fault."""

from __future__ import annotations

from tests.runtime.pipelined.loop import FAULTS, OPTIONS, SCHEDULES

Case = tuple[str, tuple[str, ...]]
"""A schedule, and what is done with it."""

RIGHT: dict[str, Case] = {
    f"{name}, {' and '.join(how) or 'plain'}": (name, how) for name in SCHEDULES for how in OPTIONS
}
WRONG: dict[str, Case] = {
    f"{name}, {fault}": (name, (fault,)) for name in SCHEDULES for fault in FAULTS
}
CASES = RIGHT | WRONG
NOT_YET = {
    "not divided": "a stage's input is a leaf, so its passes pass for ones made for that leaf"
}
"""What the auditor can't tell so far, and why."""
