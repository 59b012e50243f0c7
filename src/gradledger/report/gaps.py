"""What a verdict doesn't cover: events that were not observed, and an audit that ended early."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger.tuples import NamedTuple
from gradledger.ledger.verdict import Verdict
from gradledger.report.inspection import Inspection
from gradledger.report.visible import visible

NOT_SEEN = "not-seen"
NOT_AUDITED = "not-audited"


class Gap(NamedTuple):
    """One of the two, in words."""

    name: str
    """`not-seen` or `not-audited`, for programs."""
    lead: str
    text: str

    @property
    def sentence(self) -> str:
        """Lead and text."""
        return f"{self.lead} {self.text}"


def gaps(verdict: Verdict | Inspection) -> Iterator[Gap]:
    """The gaps of a run; none if everything was observed, and none for a check of source."""
    if isinstance(verdict, Inspection):
        return
    if verdict.unseen:
        lead = "Not seen, all ranks together:" if verdict.ranks > 1 else "Not seen:"
        told = "; ".join(visible(entry.phrase) for entry in verdict.unseen)
        yield Gap(NOT_SEEN, lead, f"{told}.")
    if verdict.trouble:
        yield Gap(NOT_AUDITED, "Not all was audited:", f"{visible(verdict.trouble)}.")
