"""What a rank has to say, in a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gradledger.ledger.findings import Evidence, Finding
from gradledger.ledger.outcomes import Tally
from gradledger.ledger.places import Place
from gradledger.ledger.verdict import Verdict
from gradledger.rules.ranks import Testimony


def encoded(testimony: Testimony) -> str:
    """As text."""
    verdict = testimony.verdict
    return json.dumps(
        {
            "subject": verdict.subject,
            "findings": [_told(finding) for finding in verdict.findings],
            "tally": list(verdict.tally),
            "sources": dict(verdict.sources),
            "trouble": verdict.trouble,
            "fingerprints": [[_spot(at), n, dict(p)] for at, n, p in testimony.fingerprints],
            "end": testimony.end,
        }
    )


def decoded(text: str) -> Testimony:
    """From text."""
    told = json.loads(text)
    verdict = Verdict(
        told["subject"],
        tuple(map(_finding, told["findings"])),
        Tally(*told["tally"]),
        sources=told["sources"],
        trouble=told["trouble"],
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
    }


def _finding(told: Mapping[str, Any]) -> Finding:
    evidence = tuple(
        Evidence(what, None if at is None else _place(at), note)
        for what, at, note in told["evidence"]
    )
    at, cells = _place(told["at"]), frozenset(told["cells"])
    return Finding(told["rule"], at, told["detail"], "observed", evidence, cells, told["count"])


def _spot(place: Place) -> list[Any]:
    return [place.path, place.line, place.column]


def _place(spot: list[Any]) -> Place:
    return Place(*spot)
