"""The report of a rank, as a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gradledger.ledger.findings import Evidence, Finding
from gradledger.ledger.outcomes import Tally
from gradledger.ledger.places import Place
from gradledger.ledger.unseen import Unseen
from gradledger.ledger.verdict import Verdict
from gradledger.recording.encoding import event_types
from gradledger.rules.ranks import Testimony


def encoded(testimony: Testimony) -> str:
    """As text."""
    verdict = testimony.verdict
    return json.dumps(
        {
            "subject": verdict.subject,
            "parameters": verdict.parameters,
            "occurrences": [
                [_spot(at), kind.__name__, count]
                for (at, kind), count in verdict.occurrences.items()
            ],
            "seconds": verdict.seconds,
            "ranks": verdict.ranks,
            "findings": [_told(finding) for finding in verdict.findings],
            "tally": list(verdict.tally),
            "sources": dict(verdict.sources),
            "trouble": verdict.trouble,
            "unseen": [[u.what, u.why, u.count, list(u.names)] for u in verdict.unseen],
            "fingerprints": [[_spot(at), n, dict(p)] for at, n, p in testimony.fingerprints],
            "end": testimony.end,
        }
    )


def decoded(text: str) -> Testimony:
    """From text."""
    told, kinds = json.loads(text), event_types()
    verdict = Verdict(
        told["subject"],
        tuple(map(_finding, told["findings"])),
        Tally(*told["tally"]),
        told["parameters"],
        {(_place(at), kinds[kind]): count for at, kind, count in told["occurrences"]},
        seconds=told["seconds"],
        ranks=told["ranks"],
        sources=told["sources"],
        trouble=told["trouble"],
        unseen=tuple(
            Unseen(what, why, count, tuple(names)) for what, why, count, names in told["unseen"]
        ),
    )
    prints = [(_place(at), step, prints) for at, step, prints in told["fingerprints"]]
    return Testimony(verdict, prints, told["end"])


def _told(finding: Finding) -> dict[str, Any]:
    evidence = [[e.what, None if e.at is None else _spot(e.at), e.note] for e in finding.evidence]
    return {
        "rule": finding.rule,
        "at": _spot(finding.at),
        "detail": finding.detail,
        "evidence": evidence,
        "cells": sorted(finding.cells),
        "count": finding.count,
        "recurring": finding.recurring,
    }


def _finding(told: Mapping[str, Any]) -> Finding:
    evidence = tuple(
        Evidence(what, None if at is None else _place(at), note)
        for what, at, note in told["evidence"]
    )
    at, cells = _place(told["at"]), frozenset(told["cells"])
    counts = told["count"], told["recurring"]
    return Finding(told["rule"], at, told["detail"], "observed", evidence, cells, *counts)


def _spot(place: Place) -> list[Any]:
    via = None if place.via is None else _spot(place.via)
    return [place.path, place.line, place.column, via]


def _place(spot: list[Any]) -> Place:
    path, line, column, via = spot
    return Place(path, line, column, None if via is None else _place(via))
