"""The names of the lanes of a chronicle in reports."""

from __future__ import annotations

from collections import Counter

from gradledger.report.chronicle import Chronicle
from gradledger.report.visible import visible


def labels(chronicle: Chronicle) -> tuple[str, ...]:
    """The program's own name for each optimizer, made unique.

    A function that makes an `optimizer` in each call makes several of that name.
    """
    called = Counter(lane.called for lane in chronicle.lanes)
    return tuple(
        visible(lane.called if called[lane.called] == 1 else f"{lane.called} ({lane.name})")
        for lane in chronicle.lanes
    )
