"""What changed between two runs, as JSON, as docs/comparison.schema.json describes it."""

from __future__ import annotations

import math
from typing import Any

from gradledger.ledger.verdict import Verdict
from gradledger.report import as_json
from gradledger.report.as_json import whole
from gradledger.report.comparison.comparing import Comparison, Side
from gradledger.report.comparison.lanes import Change, Windows
from gradledger.report.comparison.measures import Measures

VERSION = 1
"""Increased when a key is removed or changes its meaning; adding a key doesn't change it."""


def document(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain lists and dictionaries."""
    before, after = comparison.before.verdict, comparison.after.verdict
    found, parted = comparison.findings, comparison.parting
    return {
        "version": VERSION,
        "before": _side(comparison.before),
        "after": _side(comparison.after),
        "findings": {
            "new": _listed(after, found.new),
            "gone": _listed(before, found.gone),
            "kept": [
                {
                    "before": _listed(before, (kept.before,))[0],
                    "after": _listed(after, (kept.after,))[0],
                    "trend": ("less often", "as before", "more often")[kept.trend + 1],
                }
                for kept in found.kept
            ],
        },
        "parted": parted and parted._asdict(),
        "windows": [_windows(windows) for windows in comparison.windows],
        "measures": [_measures(measures) for measures in comparison.measures],
        "settings": [
            {"name": whole(name), "before": whole(was), "after": whole(now)}
            for name, was, now in comparison.settings
        ],
    }


def _side(side: Side) -> dict[str, Any]:
    told = as_json.document(side.verdict)
    del told["findings"]
    return {**told, "ended": side.ended, "seconds_per_step": side.pace}


def _listed(verdict: Verdict, findings: tuple[Any, ...]) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]]
    listed = as_json.document(verdict._replace(findings=findings))["findings"]
    return listed


def _windows(windows: Windows) -> dict[str, Any]:
    return {
        "optimizer": whole(windows.optimizer),
        "before": windows.before,
        "after": windows.after,
        "skipped_before": windows.skipped[0],
        "skipped_after": windows.skipped[1],
        "compared": windows.compared,
        "sizes": [_change(change) for change in windows.sizes],
        "weights": [_change(change) for change in windows.weights],
        "median_items_before": windows.items[0],
        "median_items_after": windows.items[1],
    }


def _change(change: Change) -> dict[str, Any]:
    return {**change._asdict(), "before": whole(change.before), "after": whole(change.after)}


def _measures(measures: Measures) -> dict[str, Any]:
    return {
        "rank": measures.rank,
        "name": measures.name,
        "optimizer": whole(measures.optimizer),
        "median_before": measures.before,
        "median_after": measures.after,
        "compared": measures.compared,
        "equal": measures.equal,
        "first_unequal_step": measures.first,
        "median_ratio": _finite(measures.ratio),
        "furthest_ratio": _finite(measures.largest),
        "furthest_step": measures.largest_step,
    }


def _finite(ratio: float | None) -> float | None:
    """The ratio of the largest and the smallest float is infinite, which JSON can't express."""
    return ratio if ratio is not None and math.isfinite(ratio) else None
