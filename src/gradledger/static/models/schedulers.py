"""Names of learning-rate schedulers."""

from __future__ import annotations

from gradledger.static.models.facts import last

_SCHEDULER_ENDINGS = ("Scheduler", "Schedule", "LROnPlateau", "WarmRestarts", "Decay")


def is_scheduler(dotted: str) -> bool:
    """Does this make a learning-rate scheduler?"""
    owner, _, name = dotted.rpartition(".")
    if last(owner) == "lr_scheduler" or name.endswith("LR"):
        return True
    if name.startswith(("get_", "create_", "build_", "make_")) and "schedule" in name:
        return True
    # Not `Scheduler` alone: that is anybody's.
    ending = next((end for end in _SCHEDULER_ENDINGS if name.endswith(end)), "")
    before = name.removesuffix(ending)
    return bool(ending) and ("a" <= before[-1:] <= "z" or before == "LR")
