"""The book: events go in, findings and tallies come out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gradledger.ledger.events import Event
from gradledger.ledger.findings import Breach, Finding
from gradledger.ledger.outcomes import Judge, Outcomes, no_rules
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place
from gradledger.ledger.tally import NOTHING, Tally


class Book:
    """Keeps one page up to date, and every finding once per place."""

    def __init__(
        self, judge: Judge = no_rules, *, yields_to: Mapping[str, frozenset[str]] | None = None
    ) -> None:
        self.page = Page()
        self._tally = NOTHING
        self._uncounted: dict[Tally, int] = {}
        """What there is to count, and how often: most of it is the same in each iteration."""
        self._outcomes = Outcomes(judge, most=10_000)
        self._yields_to = yields_to or {}
        self._findings: dict[tuple[str, Place], Finding] = {}

    def post(self, event: Event) -> tuple[Finding, ...]:
        """Enter an event. Returns the findings that it added to, new or counted once more."""
        self.page, breaches, counts = self._outcomes.of(self.page, event)
        if counts is not NOTHING:
            self._uncounted[counts] = self._uncounted.get(counts, 0) + 1
            if len(self._uncounted) > 1000:
                self._count()
        if not breaches:
            return ()
        noted: dict[tuple[str, Place], Finding] = {}
        for rule, breach in breaches:
            if breach.sure:
                key = rule, breach.at
                # Cells of several histories that one event breaks a rule for are one fault.
                noted[key] = self._note(rule, breach, once_more=key not in noted)
        return tuple(noted.values())

    @property
    def tally(self) -> Tally:
        """Exact counts over the run so far."""
        self._count()
        return self._tally

    def _count(self) -> None:
        for counts, times in self._uncounted.items():
            self._tally = self._tally.plus(Tally(*(times * count for count in counts)))
        self._uncounted.clear()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """One per fault: symptoms give way to the cause that they share a place with."""
        return one_per_fault(self._findings.values(), self._yields_to)

    def _note(self, rule: str, breach: Breach, *, once_more: bool) -> Finding:
        known = self._findings.get((rule, breach.at))
        if known is not None:
            finding = known.again(breach) if once_more else known.joined(breach)
        else:
            finding = Finding(
                rule, breach.at, breach.detail, "observed", breach.evidence, breach.cells
            )
        self._findings[rule, breach.at] = finding
        return finding


def one_per_fault(
    findings: Iterable[Finding], yields_to: Mapping[str, frozenset[str]]
) -> tuple[Finding, ...]:
    """Leave out each finding whose rule yields to that of another one at a common place.

    Nothing certain gives way to what is only possible.
    """
    kept = tuple(findings)

    def explained_by(finding: Finding, cause: Finding) -> bool:
        return (
            cause.rule in yields_to.get(finding.rule, ())
            and bool(finding.places & cause.places)
            and (cause.certainty != "possible" or finding.certainty == "possible")
        )

    return tuple(f for f in kept if not any(explained_by(f, cause) for cause in kept))
