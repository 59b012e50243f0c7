"""What can happen on every path: sets of pages, carried through a program to a fixpoint.

The interpreter asks the same rules as the auditor, about every page that is possible at an event.
The first time round a loop is kept apart from the later ones, or a missing clear would never be
broken on all paths of a round: the first step is innocent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from gradledger.errors import GradledgerError
from gradledger.ledger import Judge, Outcomes, Page
from gradledger.ledger.events import Event, Schedule, Step
from gradledger.ledger.outcomes import Outcome
from gradledger.static.ir.program import (
    Branch,
    Call,
    Do,
    Exit,
    Forget,
    Leave,
    Loop,
    Program,
    Require,
    Sequence,
    Tick,
    Try,
)
from gradledger.static.solve.acting import IDLE, always_acts
from gradledger.static.solve.breaches import Breaches, Visit
from gradledger.static.solve.paths import (
    NO_FACTS,
    NO_PATHS,
    START,
    Facts,
    Path,
    Paths,
    assuming,
    forgetting,
    knowing,
    order,
    ticked,
    unmarked,
)

INSIDE = ("break", "continue")
"""Exits that no loop lets out."""


class TooManyPaths(GradledgerError):
    """There is more to follow in the program than is worth the time: it is unknown."""


class Interpreter(Breaches):
    """Runs a program on all paths at once, and remembers what each event met."""

    def __init__(
        self,
        judge: Judge,
        *,
        outcomes: Outcomes | None = None,
        stops: Callable[[str], bool] = lambda rule: False,
        most_visits: int = 50_000,
        most_outcomes: int = 50_000,
    ) -> None:
        super().__init__()
        self._stops = stops
        self._most_visits = most_visits
        self._most_outcomes = most_outcomes
        self.visits = 0
        """How many events were met on how many paths: the work that was done."""
        self._outcomes = Outcomes(judge, counts=False) if outcomes is None else outcomes
        """What is known from other programs of the file, too."""
        self._happened: dict[int, Outcome] = {}
        self._acting: Facts = NO_FACTS
        """Facts that tell that something has happened in a round, of the loops that are going."""
        self._left: defaultdict[Exit, Paths] = defaultdict(frozenset)
        """Paths on the way out of what is being run, by the kind of exit."""
        self._breaking_off: set[Path] | None = None
        """Inside a `try`: every path on which an exception can be raised in it."""

    @property
    def outcomes(self) -> int:
        """How many different things have happened to different pages."""
        return len(self._happened)

    def run(self, program: Program, paths: Paths = START) -> Paths:
        """Carry the paths through the program; returns those that reach its end."""
        return self._run(program, paths, ())

    def _run(self, program: Program, paths: Paths, visit: Visit) -> Paths:
        if not paths:
            return paths
        match program:
            case Do(event):
                return self._do(event, paths, visit)
            case Sequence(parts):
                for i, part in enumerate(parts):
                    paths = self._run(part, paths, (*visit, i))
                return paths
            case Branch():
                return self._branch(program, paths, visit)
            case Loop():
                return self._loop(program, paths, visit)
            case Forget(condition):
                return forgetting(paths, condition)
            case Tick():
                self.window_ends.add(program.ends)
                return frozenset(after for path in paths for after in ticked(path, program))
            case Leave(by):
                self._left[by] |= paths
                return NO_PATHS
            case Call(body, left_by):
                return self._call(body, left_by, paths, visit)
            case Try():
                return self._try(program, paths, visit)
            case Require(cells):
                meeting = frozenset(
                    path
                    for path in paths
                    if any(cell.deposited for _, cell in path[0].among(cells))
                )
                # What no path meets is no knowledge of the program, but an error about it.
                return meeting or paths

    def _do(self, event: Event, paths: Paths, visit: Visit) -> Paths:
        # Of all events together: a loop may go round for very long with one new page each time.
        self.visits += len(paths)
        if self.visits > self._most_visits or self.outcomes > self._most_outcomes:
            raise TooManyPaths(f"more than {self._most_visits} pages to follow, at {event.at}")
        after: set[Path] = set()
        acting = self._acting
        here = NO_FACTS if isinstance(event, IDLE) else acting
        if isinstance(event, Step):
            name = f"stepped at {event.at.path}:{event.at.line}"
            self.stepped.add(name)
            here |= {(name, True)}
        elif isinstance(event, Schedule):
            self.schedules[visit] = event
        if self._breaking_off is not None:
            self._breaking_off |= paths
        # Many paths are on one page, or know the same: what comes of that is asked for once.
        pages: dict[int, tuple[Page | None, list[set[Path]]]] = {}
        known: dict[Facts, tuple[Facts, Facts]] = {}
        met = self.met[visit]
        for page, facts in paths:
            turned = pages.get(id(page))
            if turned is None:
                turned = pages[id(page)] = self._meet(page, event, visit)
            knows = known.get(facts)
            if knows is None:
                knows = known[facts] = facts - acting, facts | here
            came = page, knows[0]
            met.add(came)
            for on in turned[1]:
                on.add(came)
            if turned[0] is not None:
                after.add((turned[0], knows[1]))
        return frozenset(after)

    def _meet(self, page: Page, event: Event, visit: Visit) -> tuple[Page | None, list[set[Path]]]:
        """The next page, None where a law is broken that ends the path; and what is surely broken.

        Of that, the sets of the paths on which it is.
        """
        outcome = self._outcomes.of(page, event)
        is_new = id(outcome) not in self._happened
        self._happened[id(outcome)] = outcome
        surely: list[set[Path]] = []
        ends = False
        for rule, breach in outcome.breaches:
            fault = rule, breach.at
            if is_new:
                first = self.first_breach.get(fault)
                # Paths come in no order: of all the ways to say it, always the same one.
                if first is None or (first != breach and order(breach) < order(first)):
                    self.first_breach[fault] = breach
            on = self.broken[visit][fault]
            self._events[visit] = event
            if breach.sure:
                surely.append(on)
                ends = ends or self._stops(rule)
        return None if ends else outcome.page, surely

    def _branch(self, branch: Branch, paths: Paths, visit: Visit) -> Paths:
        if branch.condition is None:
            yes = no = paths
        else:
            yes = assuming(paths, branch.condition, True)
            no = assuming(paths, branch.condition, False)
        return self._run(branch.then, yes, (*visit, "then")) | self._run(
            branch.orelse, no, (*visit, "else")
        )

    def _loop(self, loop: Loop, paths: Paths, visit: Visit) -> Paths:
        outer, self._left = self._left, defaultdict(frozenset, self._left)
        self._left["break"] = self._left["continue"] = NO_PATHS
        rounds_ask = {condition for condition in (loop.last, loop.first) if condition}
        for condition in rounds_ask:
            paths = forgetting(paths, condition)
        ended = NO_PATHS
        new, reached = self._round(loop, paths, (*visit, "first"))
        if loop.at_least < 2 or not reached.isdisjoint(paths):
            ended |= reached
        new, reached = self._round(loop, new, (*visit, "second"))
        ended |= reached
        begun = NO_PATHS
        # All that a later round can begin with is met in one, also what was met before.
        while new := new - begun:
            begun |= new
            new, reached = self._round(loop, new, (*visit, "later"))
            ended |= reached
        others = self._left["break"] | (paths if loop.at_least == 0 else NO_PATHS)
        if loop.ran_out is not None:
            ended = knowing(ended, loop.ran_out, True)
            others = knowing(others, loop.ran_out, False)
        ended |= others
        for condition in loop.anew | rounds_ask:
            ended = forgetting(ended, condition)
        outer.update({by: left for by, left in self._left.items() if by not in INSIDE})
        self._left = outer
        return ended

    def _round(self, loop: Loop, paths: Paths, visit: Visit) -> tuple[Paths, Paths]:
        """Once through the body: the paths that go round again, and those that may leave."""
        if loop.first is not None:
            known = frozenset({(loop.first, visit[-1] == "first")})
            paths = frozenset((p, f | known) for p, f in forgetting(paths, loop.first))
        if loop.last is not None:
            self.last_rounds.add(loop.last)
            paths = forgetting(paths, loop.last)
            paths = frozenset(
                (page, facts | {(loop.last, answer)})
                for page, facts in paths
                for answer in (True, False)
            )
        marks = NO_FACTS
        if loop.first is None and not always_acts(loop.body):
            marks = frozenset({(f"acts in {visit}", True)})
        after = self._marking(marks, lambda: self._run(loop.body, paths, visit))
        after |= self._left["continue"]
        self._left["continue"] = NO_PATHS
        for condition in loop.anew:
            after = forgetting(after, condition)
        # A round in which nothing happened, and which is not counted, is none: what follows it is
        # the same round again.
        going_on = after
        if marks:
            going_on = unmarked((p for p in after if marks <= p[1] or p not in paths), marks)
            after = unmarked(after, marks)
            self._left.update({by: unmarked(left, marks) for by, left in self._left.items()})
        if loop.last is None:
            return going_on, after
        ended = frozenset(path for path in after if (loop.last, False) not in path[1])
        going_on = frozenset(path for path in going_on if (loop.last, True) not in path[1])
        return going_on, forgetting(ended, loop.last)

    def _marking(self, marks: Facts, run: Callable[[], Paths]) -> Paths:
        """What comes of it, while each event leaves these marks; outside, there are none."""
        if not marks:
            return run()
        acting, breaking_off = self._acting, self._breaking_off
        self._acting |= marks
        if breaking_off is not None:
            self._breaking_off = set()
        after = run()
        if breaking_off is not None and self._breaking_off:
            breaking_off |= unmarked(self._breaking_off, marks)
        self._acting, self._breaking_off = acting, breaking_off
        return after

    def _call(self, body: Program, left_by: Exit, paths: Paths, visit: Visit) -> Paths:
        outer = self._left[left_by]
        self._left[left_by] = NO_PATHS
        paths = self._run(body, paths, visit) | self._left[left_by]
        self._left[left_by] = outer
        return paths

    def _try(self, program: Try, paths: Paths, visit: Visit) -> Paths:
        outer, raised = self._breaking_off, self._left["raise"]
        self._breaking_off = set(paths)
        self._left["raise"] = NO_PATHS
        after = self._run(program.body, paths, (*visit, "try"))
        broken = frozenset(self._breaking_off) | after | self._left["raise"]
        self._breaking_off = outer
        self._left["raise"] = raised
        if program.fault is not None:
            broken = self._do(program.fault, broken, (*visit, "fault"))
        return after | self._run(program.handler, broken, (*visit, "except"))
