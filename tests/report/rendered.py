"""A verdict as a string."""

from __future__ import annotations

import io

from gradledger.ledger.verdict import Verdict
from gradledger.report import render
from gradledger.report.inspection import Inspection


def rendered(
    verdict: Verdict | Inspection,
    format: str = "text",
    *,
    quiet: bool = False,
    unknown: bool = False,
    statistics: bool = False,
) -> str:
    stream = io.StringIO()
    render(verdict, format, stream=stream, quiet=quiet, unknown=unknown, statistics=statistics)
    return stream.getvalue()
