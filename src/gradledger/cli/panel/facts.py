"""The data that the panel shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gradledger.ledger.findings import Finding


class Lane(NamedTuple):
    """An optimizer."""

    called: str
    steps: int = 0
    per_second: float | None = None
    window: int | None = None
    """How many deposits its latest step spent."""
    gathered: int = 0
    """How many are waiting for its next step."""
    skipped: int = 0
    norm: float | None = None
    """Of what its latest step spent, unscaled and before it was clipped."""
    course: Sequence[float] = ()
    """The norms of the run so far."""


class Facts(NamedTuple):
    """The state of a run at one moment."""

    subject: str
    seconds: float = 0.0
    lanes: Sequence[Lane] = ()
    findings: Sequence[Finding] = ()
    """The worst first."""
    every: int = 1
    """One cycle in this many is audited."""
    unseen: bool = False
    """Something wasn't seen: the absence of findings says nothing about it."""
    trouble: bool = False
    """The audit has ended before the run has."""
