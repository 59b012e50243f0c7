"""What the book says when a law is broken."""

from __future__ import annotations

from gradledger.ledger.events import NO_CELLS, CellNames
from gradledger.ledger.places import Place
from gradledger.ledger.values import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal

    Certainty = Literal["observed", "certain", "possible"]
else:
    Certainty = str


class Evidence(Value):
    """Another place that matters: deposited here, spent here, cleared never."""

    what: str
    at: Place | None
    note: str = ""


class Breach(Value):
    """A rule's predicate held: one law broken once, on one page.

    `sure` is False where a saturated count leaves open whether it is broken.
    """

    at: Place
    detail: str
    evidence: tuple[Evidence, ...] = ()
    cells: CellNames = NO_CELLS
    sure: bool = True


class Finding(Value):
    """A rule broken at one place in the code, however often."""

    rule: str
    at: Place
    detail: str
    certainty: Certainty
    evidence: tuple[Evidence, ...] = ()
    cells: CellNames = NO_CELLS
    count: int = 1

    def again(self, breach: Breach) -> Finding:
        """The same fault once more; the first evidence stands."""
        return replace(self.joined(breach), count=self.count + 1)

    def joined(self, breach: Breach) -> Finding:
        """The same fault, of these cells too."""
        return (
            self if breach.cells <= self.cells else replace(self, cells=self.cells | breach.cells)
        )

    @property
    def places(self) -> frozenset[Place]:
        """All the places it points at."""
        return frozenset({self.at, *(e.at for e in self.evidence if e.at is not None)})


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
