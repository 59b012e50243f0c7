"""Tables of what happened, one row at a time: there may be millions."""

from __future__ import annotations

from collections.abc import Mapping

from gradledger.ledger.events import Event, Weight
from gradledger.ledger.places import Place
from gradledger.ledger.values import Value
from gradledger.recording import Recording
from gradledger.report.chronicle import Chronicle, weighed
from gradledger.report.labels import labels
from gradledger.report.moments import moments
from gradledger.report.paths import shown
from gradledger.report.tables.comma_separated import Row, Rows

COLUMNS = ("at", "optimizer", "cells")
"""Fields with a column of their own."""


def deposited(chronicle: Chronicle, recording: Recording) -> Rows:
    """Each backward pass. `turn` is the step that came next, all optimizers counted together."""
    names, weights = labels(chronicle), iter(chronicle.deposits)
    places = [(shown(at.path), at.line) for at in chronicle.sites]
    when = iter(moments(recording))
    number = 0
    for turn, pattern in enumerate(chronicle.turns, 1):
        for mark in chronicle.patterns[pattern]:
            ns = next(when)
            if mark.kind != "deposit":
                continue
            number += 1
            weight = chronicle.weights[next(weights)]
            yield (
                number,
                ns / 1e9,
                *places[mark.site],
                "; ".join(names[lane] for lane in mark.lanes),
                turn,
                weight.reduction,
                weight.items,
                "the framework" if weight.framework_divides else weight.divisor,
            )


def happened(chronicle: Chronicle, recording: Recording) -> Rows:
    """Each event as it was recorded, with its number."""
    names: dict[str | None, str] = {
        lane.name: label for lane, label in zip(chronicle.lanes, labels(chronicle), strict=True)
    }
    # An event that happens again is the same object, and its row is made once.
    known: dict[int, tuple[Event, Row]] = {}
    for recorded in recording.events():
        event = recorded.event
        if id(event) not in known:
            known[id(event)] = event, _row(event, names)
        yield recorded.number, recorded.ns / 1e9, *known[id(event)][1]


def _row(event: Event, names: Mapping[str | None, str]) -> Row:
    optimizer: str | None = getattr(event, "optimizer", None)
    cells = getattr(event, "cells", None)
    return (
        type(event).__name__,
        shown(event.at.path),
        event.at.line,
        names.get(optimizer, optimizer),
        None if cells is None else len(cells),
        _detail(event),
    )


def _detail(event: Event) -> str:
    """The fields that have no column and say something: `weight: mean of 8 items; local: yes`."""
    told = ((field, _words(getattr(event, field))) for field in event.fields)
    return "; ".join(f"{field}: {said}" for field, said in told if said and field not in COLUMNS)


def _words(value: object) -> str:
    match value:
        case None | False:
            return ""
        case True:
            return "yes"
        case Weight():
            return weighed(value)
        case Place():
            return f"{shown(value.path)}:{value.line}"
        case Value():
            return ", ".join(field for field in value.fields if getattr(value, field) is True)
        case frozenset():
            return ", ".join(sorted(map(_words, value)))
    return str(value)
