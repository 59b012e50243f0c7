"""A verdict as a string."""

from __future__ import annotations

import io

from gradledger.ledger.verdict import Verdict
from gradledger.report import render


def rendered(verdict: Verdict, format: str = "text", *, quiet: bool = False) -> str:
    stream = io.StringIO()
    render(verdict, format, stream=stream, quiet=quiet)
    return stream.getvalue()
