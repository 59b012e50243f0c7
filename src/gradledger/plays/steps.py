"""A step of a play: an event in words, what it touches, and what the cells hold after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradledger.ledger import Page
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
from gradledger.plays.cells import Json, cells_on, fresh_and_spent, line_in, weight_said
from gradledger.plays.words import WORDS
from gradledger.rules.catalogue import find

SHOWN = frozenset(WORDS) - {EpochEnd, Gone, Own, Read, RunEnd}
"""The events that a play shows."""
_SAYS: dict[type[Event], str] = {
    Skipped: "is skipped",
    Edit: "changes the gradient",
    Unscale: "divides by the scale",
    Update: "lets the scaler choose its next scale",
    Schedule: "moves the scheduler",
    Sync: "averages over the ranks",
    Keep: "keeps the graph",
    Release: "frees the graph",
    Walk: "walks a graph again",
    Replace: "replaces a parameter",
    Fault: "an exception breaks the iteration off",
}
"""What an event does, after the number of its line."""
VERSION = 1
"""Increased when a key of a play is removed or changes its meaning."""


def step_of(event: Event, before: Page, after: Page, path: str, rounds: Sequence[Json]) -> Json:
    """The step, without its faults. Its line is None where it happened in another file."""
    return {
        "line": line_in(event.at, path),
        "kind": type(event).__name__.lower(),
        "says": _said(event, before),
        "rounds": list(rounds),
        "touches": sorted(_touched(event, before)),
        "cells": cells_on(after, path),
        "faults": [],
    }


def add_faults(step: Json, broken: Mapping[str, str]) -> None:
    """Adds the faults of a step; `broken` has their details by rule."""
    faults = step["faults"]
    assert isinstance(faults, list)
    for rule, detail in broken.items():
        faults.append({"rule": rule, "name": find(rule).name, "detail": detail})


def _said(event: Event, page: Page) -> str:
    match event:
        case Backward():
            said = ", ".join(filter(None, (weight_said(event.weight), event.scaler and "scaled")))
            return f"deposits{f' ({said})' if said else ''}"
        case Step():
            owned = frozenset().union(*(names for names, _ in page.spent_by(event)))
            fresh, spent = fresh_and_spent(page, owned)
            again = f", and {spent} spent before" if spent else ""
            return (
                f"spends {fresh} deposit{'s' * (fresh != 1)}{again}"
                if fresh + spent
                else ("finds nothing to spend")
            )
        case Clear():
            fresh, _ = fresh_and_spent(page, event.cells)
            lost = f": {fresh} unspent deposit{'s' * (fresh != 1)} lost" if fresh else ""
            return f"clears to {'None' if event.to_none else 'zeros'}{lost}"
        case Clip():
            return "clips" if event.changes else "takes the norm"
    return _SAYS[type(event)]


def _touched(event: Event, page: Page) -> frozenset[str]:
    if isinstance(event, Step):
        return frozenset().union(*(names for names, _ in page.spent_by(event)))
    if isinstance(event, Unscale | Skipped):
        return frozenset().union(*(names for names, _ in page.owned_by(event.optimizer)))
    cells = getattr(event, "cells", None)
    return cells if isinstance(cells, frozenset) else frozenset()
