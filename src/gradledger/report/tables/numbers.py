"""Tables of windows: what steps spent, and what was measured in them."""

from __future__ import annotations

from array import array
from itertools import chain

from gradledger.recording import Recording
from gradledger.report.chronicle import Chronicle, windows
from gradledger.report.contents import items, weighings
from gradledger.report.labels import labels
from gradledger.report.paths import shown
from gradledger.report.tables.comma_separated import Rows


def windowed(chronicle: Chronicle, recording: Recording) -> Rows:
    """Each step, or skipped step. `step` counts both, from 1, for each optimizer."""
    names = labels(chronicle)
    places = [(shown(at.path), at.line) for at in chronicle.sites]
    series = {
        (name, lane): dict(zip(*chronicle.measured(name, lane), strict=True))
        for name in ("gradient norm", "update ratio")
        for lane in range(len(names))
    }
    for window in windows(chronicle):
        yield (
            names[window.lane],
            window.number,
            window.ns / 1e9,
            *places[window.site],
            window.skipped,
            None if window.skipped else window.deposits,
            None if window.skipped else sum(used.deposits for used in window.used if used.again),
            items(window, chronicle.weights),
            series["gradient norm", window.lane].get(window.turn),
            series["update ratio", window.lane].get(window.turn),
        )


def spent(chronicle: Chronicle, recording: Recording) -> Rows:
    """The contents of each window by call site."""
    names = labels(chronicle)
    places = [(shown(at.path), at.line) for at in chronicle.sites]
    for window in windows(chronicle):
        for used in window.used:
            yield (
                names[window.lane],
                window.number,
                *places[used.site],
                used.again,
                used.deposits,
                used.parameters,
                weighings(used.weights, chronicle.weights),
            )


def measured(chronicle: Chronicle, recording: Recording) -> Rows:
    """Each measure, the whole optimizer first and then parameter by parameter."""
    names = labels(chronicle)
    steps = array("L", bytes(array("L").itemsize * len(chronicle.turns)))
    for window in windows(chronicle):
        steps[window.turn] = window.number
    series = dict.fromkeys((name, lane) for name, lane, _ in sorted(chronicle.measures))
    for name, lane in series:
        for cell in chain([""], chronicle.cells(name, lane)):
            for turn, value in zip(*chronicle.measured(name, lane, cell), strict=True):
                yield name, names[lane], cell, steps[turn], value


def flowed(chronicle: Chronicle, recording: Recording) -> Rows:
    """From call sites to optimizers to what became of it."""
    names = labels(chronicle)
    for flow in chronicle.flows:
        at = chronicle.sites[flow.site]
        yield shown(at.path), at.line, names[flow.lane], flow.fate, flow.entries
