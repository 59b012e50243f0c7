"""What can happen on every path: sets of pages, carried through a program to a fixpoint.

The interpreter asks the same rules as the auditor, about every page that is possible at an event.
Broken on all of them, a finding is certain; on some, possible. The first time round a loop is kept
apart from the later ones, or a missing clear would never be certain: the first step is innocent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from gradledger.errors import GradledgerError
from gradledger.ledger import (
    Breach,
    Certainty,
    Finding,
    Judge,
    Outcomes,
    Page,
    Place,
    one_per_fault,
)
from gradledger.ledger.cells import SATURATING
from gradledger.ledger.events import Event
from gradledger.static.program import Branch, Do, Forget, Loop, Program, Sequence

Facts = frozenset[tuple[str, bool]]
Path = tuple[Page, Facts]
"""One way to have come here: the page, and how the named conditions on the way were answered."""

Paths = frozenset[Path]

Visit = tuple[str | int, ...]
"""Where in the program, and in each loop around it: the first round, or a later one."""

Fault = tuple[str, Place]
"""A rule, and the place that its finding would stand at."""

START: Paths = frozenset({(Page(counting=SATURATING), frozenset())})


class TooManyPaths(GradledgerError):
    """There is more to follow in the program than is worth the time: it is unknown."""


class Interpreter:
    """Runs a program on all paths at once, and remembers what each event met."""

    def __init__(
        self, judge: Judge, *, stops: Collection[str] = frozenset(), most_visits: int = 50_000
    ) -> None:
        self._stops = frozenset(stops)
        self._most_visits = most_visits
        self._visits = 0
        self._met: defaultdict[Visit, set[Path]] = defaultdict(set)
        self._sure: defaultdict[Visit, defaultdict[Fault, set[Path]]] = defaultdict(
            lambda: defaultdict(set)
        )
        self._first_breach: dict[Fault, Breach] = {}
        self._outcomes = Outcomes(judge)

    def run(self, program: Program, paths: Paths = START) -> Paths:
        """Carry the paths through the program; returns those that reach its end."""
        return self._run(program, paths, ())

    def verdicts(self) -> dict[Visit, dict[Fault, Certainty]]:
        """For each event and round: what is certainly broken there, and what possibly."""
        return {
            visit: {
                fault: "certain" if sure == self._met[visit] else "possible"
                for fault, sure in faults.items()
            }
            for visit, faults in self._sure.items()
        }

    def findings(
        self, yields_to: Mapping[str, frozenset[str]] | None = None
    ) -> tuple[Finding, ...]:
        """One per rule and place: certain, if it is certain in some round of some event."""
        best: dict[Fault, Certainty] = {}
        for faults in self.verdicts().values():
            for fault, certainty in faults.items():
                if best.get(fault) != "certain":
                    best[fault] = certainty
        found = []
        for (rule, at), certainty in best.items():
            breach = self._first_breach[rule, at]
            found.append(Finding(rule, at, breach.detail, certainty, breach.evidence, breach.cells))
        return one_per_fault(found, yields_to or {})

    def _run(self, program: Program, paths: Paths, visit: Visit) -> Paths:
        match program:
            case Do(event):
                return self._do(event, paths, visit)
            case Sequence(parts):
                for i, part in enumerate(parts):
                    paths = self._run(part, paths, (*visit, i))
                return paths
            case Branch():
                return self._branch(program, paths, visit)
            case Loop(body):
                return self._loop(body, paths, visit)
            case Forget(condition):
                return frozenset(
                    (page, frozenset(f for f in facts if f[0] != condition))
                    for page, facts in paths
                )

    def _do(self, event: Event, paths: Paths, visit: Visit) -> Paths:
        # Of all events together: a loop may go round for very long with one new page each time.
        self._visits += len(paths)
        if self._visits > self._most_visits:
            raise TooManyPaths(f"more than {self._most_visits} pages to follow, at {event.at}")
        after: set[Path] = set()
        for path in paths:
            page, facts = path
            next_page, breaches, _ = self._outcomes.of(page, event)
            self._met[visit].add(path)
            for rule, breach in breaches:
                fault = rule, breach.at
                self._first_breach.setdefault(fault, breach)
                on = self._sure[visit][fault]
                if breach.sure:
                    on.add(path)
            if not any(rule in self._stops and breach.sure for rule, breach in breaches):
                after.add((next_page, facts))
        return frozenset(after)

    def _branch(self, branch: Branch, paths: Paths, visit: Visit) -> Paths:
        if branch.condition is None:
            yes = no = paths
        else:
            yes = _assume(paths, branch.condition, True)
            no = _assume(paths, branch.condition, False)
        return self._run(branch.then, yes, (*visit, "then")) | self._run(
            branch.orelse, no, (*visit, "else")
        )

    def _loop(self, body: Program, paths: Paths, visit: Visit) -> Paths:
        new = reached = self._run(body, paths, (*visit, "first"))
        while new:
            new = self._run(body, new, (*visit, "later")) - reached
            reached |= new
        return paths | reached


def _assume(paths: Paths, condition: str, answer: bool) -> Paths:
    """The paths on which the condition can have this answer, which they remember."""
    return frozenset(
        (page, facts | {(condition, answer)})
        for page, facts in paths
        if (condition, not answer) not in facts
    )
