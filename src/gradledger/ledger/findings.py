"""Findings: what the book reports when a law is broken."""

from __future__ import annotations

from gradledger.ledger.events import NO_CELLS, CellNames
from gradledger.ledger.places import Place
from gradledger.ledger.values import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Literal

    Certainty = Literal["observed", "certain", "likely", "possible"]
else:
    Certainty = str

LEVELS: tuple[Certainty, ...] = ("possible", "likely", "certain", "observed")
"""From the least sure to the surest."""

CURE = "cure"
"""What the evidence is called that has no place: its note is what cures the fault where it is."""


ONLY_WITH = "only with "
"""How an assumption begins without which there is no fault: what a person chooses, or leaves."""

GOES_ROUND = "the loop runs at least "
"""How the assumption begins that a loop has several rounds, as nearly every loop has."""


class Evidence(Value):
    """Another place that matters: deposited here, spent here, cleared never."""

    what: str
    at: Place | None
    note: str = ""


class WitnessStep(Value):
    """One thing that happens on the path that shows a fault."""

    what: str
    """As in Evidence: deposited, spent, cleared …"""
    at: Place
    when: str = ""
    """In which round: `iteration 2`. Empty where no loop on the path goes round twice."""


class Breach(Value):
    """A rule's predicate held: one law broken once, on one page.

    `sure` is False where a saturated count leaves open whether it is broken. `last_word`: it tells
    what a fault that was found before has grown to, in the place of what was told then.
    """

    at: Place
    detail: str
    evidence: tuple[Evidence, ...] = ()
    cells: CellNames = NO_CELLS
    sure: bool = True
    last_word: bool = False


_REPORT = "gradledger.report.notebook"


class Displayed:
    """What IPython, and other notebooks after it, ask an object for.

    The reports know the ledger, and not the other way round. So who shows something is looked up
    by name, when a notebook asks for it.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(_report().html(self))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The text shown where there is no HTML: in a terminal, and in an exported file."""
        printer.text(_report().text(self))


def _report() -> Any:
    from importlib import import_module

    return import_module(_REPORT)


class Finding(Displayed, Value):
    """A rule broken at one place in the code, however often."""

    rule: str
    at: Place
    detail: str
    certainty: Certainty
    evidence: tuple[Evidence, ...] = ()
    cells: CellNames = NO_CELLS
    count: int = 1
    recurring: int = 0
    """Parameters that had the name of one that was gone: in `cells` each name is there once."""
    witness: tuple[WitnessStep, ...] = ()
    """The shortest path on which it happens, where source was checked and one was found in time."""
    assumptions: tuple[str, ...] = ()
    """What that path takes for granted, a short sentence each, the weightiest first."""

    @property
    def parameters(self) -> int:
        """How many parameters it concerns."""
        return len(self.cells) + self.recurring

    def again(self, breach: Breach) -> Finding:
        """The same fault once more: keeps its evidence, unless the breach has the last word."""
        if breach.last_word:
            places = {evidence.at for evidence in breach.evidence}
            before = tuple(e for e in self.evidence if e.at not in places)
            evidence = before + breach.evidence
            return replace(self.joined(breach), detail=breach.detail, evidence=evidence)
        return replace(self.joined(breach), count=self.count + 1)

    def joined(self, breach: Breach) -> Finding:
        """The same fault, of these cells too."""
        return (
            self if breach.cells <= self.cells else replace(self, cells=self.cells | breach.cells)
        )

    @property
    def cure(self) -> str:
        """What cures it here, where that is not what the rule says."""
        return next((e.note for e in self.evidence if e.what == CURE), "")

    @property
    def told(self) -> tuple[Evidence, ...]:
        """The other places that matter, and the calls that led to its own, innermost first."""
        seen = (e for e in self.evidence if e.what != CURE)
        return (*seen, *(Evidence("called", caller) for caller in self.at.way[1:]))

    @property
    def condition(self) -> str:
        """The option that has to be set, and its default: `only with --fp16 on; it is off …`."""
        return ", and ".join(filter(_needs_setting, self.assumptions))

    @property
    def granted(self) -> tuple[str, ...]:
        """The other assumptions that are worth a word to a person."""
        said = (a for a in self.assumptions if not a.startswith(GOES_ROUND))
        return tuple(a for a in said if not _needs_setting(a))

    @property
    def places(self) -> frozenset[Place]:
        """All the places it points at."""
        return frozenset({self.at, *(e.at for e in self.evidence if e.at is not None)})


def is_surer(finding: Finding, other: Finding) -> bool:
    """True if the one is more certain than the other."""
    return LEVELS.index(finding.certainty) > LEVELS.index(other.certainty)


def _needs_setting(assumption: str) -> bool:
    """Whether it is about an option that isn't set to its default."""
    return assumption.startswith((ONLY_WITH, "with ")) and "; it" in assumption


def one_per_fault(
    findings: Iterable[Finding], yields_to: Mapping[str, frozenset[str]]
) -> tuple[Finding, ...]:
    """Leave out each finding whose rule yields to that of another one at a common place.

    Nothing certain gives way to what is only possible, or likely.
    """
    kept = tuple(findings)
    unsure = ("possible", "likely")

    def explained_by(finding: Finding, cause: Finding) -> bool:
        return (
            cause.rule in yields_to.get(finding.rule, ())
            and bool(finding.places & cause.places)
            and (cause.certainty not in unsure or finding.certainty in unsure)
        )

    return tuple(f for f in kept if not any(explained_by(f, cause) for cause in kept))
