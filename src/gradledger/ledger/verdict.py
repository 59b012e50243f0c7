"""A verdict: the result of an audit, with everything that a report needs."""

from __future__ import annotations

from collections.abc import Mapping

from gradledger.ledger.events import Event
from gradledger.ledger.findings import Finding
from gradledger.ledger.outcomes import NOTHING, Tally
from gradledger.ledger.places import Place
from gradledger.ledger.tuples import NamedTuple
from gradledger.ledger.unseen import Unseen


class Verdict(NamedTuple):
    """Whether the books balance: there are no findings, and nothing went unseen."""

    subject: str
    """What was audited, as a person would call it: `train.py`."""
    findings: tuple[Finding, ...] = ()
    """One per fault, the worst first."""
    tally: Tally = NOTHING
    parameters: int = 0
    """How many parameters optimizers held, all together."""
    occurrences: Mapping[tuple[Place, type[Event]], int] = {}
    """How often each kind of event happened at each place: a finding's count is out of these."""
    sources: Mapping[str, str] = {}
    """The text of each file that a finding points into, as it was when it ran."""
    seconds: float = 0.0
    ranks: int = 1
    trouble: str = ""
    """Why the audit ended before the program did."""
    unseen: tuple[Unseen, ...] = ()
    """What happened, or may have happened, and was not seen."""
