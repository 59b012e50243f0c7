"""One sign for each kind of event, the same as on the HTML page (web/src/symbols.ts)."""

from __future__ import annotations

from typing import NamedTuple


class Sign(NamedTuple):
    """Drawn in a box of 16 by 16."""

    path: str
    colour: str
    says: str
    hollow: bool = False


SIGNS = {
    "deposit": Sign("M2 3h12l-6 11z", "ink", "deposit: a backward pass"),
    "edit": Sign("M3 13l1-4 7-7 3 3-7 7z", "soft", "changed by hand"),
    "unscale": Sign("M3 8h10M9 4l4 4-4 4M3 3v10", "soft", "unscaled", True),
    "clip": Sign("M2 4h12M2 12h12M5 8h6", "soft", "clipped", True),
    "norm": Sign("M5 2v12M11 2v12", "soft", "norm taken", True),
    "spend": Sign("M2 2h12v12h-12z", "spent", "spend: a step"),
    "skip": Sign("M3 3h10v10h-10zM3 13l10-10", "skipped", "step skipped", True),
    "clear": Sign("M8 2.5a5.5 5.5 0 1 0 .01 0z", "cleared", "cleared", True),
    "update": Sign(
        "M3 8a5 5 0 0 1 9-3M13 8a5 5 0 0 1-9 3M12 1v4h-4M4 15v-4h4", "soft", "scaler updated", True
    ),
    "schedule": Sign("M8 2v12M8 8h5M2 14h12", "soft", "scheduler moved on", True),
    "sync": Sign("M2 6h11l-3-3M14 10h-11l3 3", "soft", "averaged between ranks", True),
    "fault": Sign("M3 3l10 10M13 3l-10 10", "fault", "exception", True),
    "epoch": Sign("M8 0v4M8 6v4M8 12v4", "soft", "end of an epoch", True),
    "end": Sign("M6 1v14M10 1v14", "soft", "end of the run", True),
}
