"""What can happen on every path: sets of pages, carried through a program to a fixpoint.

The interpreter asks the same rules as the auditor, about every page that is possible at an event.
Broken on all of them, a finding is certain; on some, possible. The first time round a loop is kept
apart from the later ones, or a missing clear would never be certain: the first step is innocent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

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
from gradledger.ledger.events import Batch, Event, Read, Schedule, Step
from gradledger.ledger.outcomes import Outcome
from gradledger.static.program import (
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

Facts = frozenset[tuple[str, bool]]
Path = tuple[Page, Facts]
"""One way to have come here: the page, and how the named conditions on the way were answered."""

Paths = frozenset[Path]

NO_PATHS: Paths = frozenset()
_NO_FACTS: Facts = frozenset()

INSIDE = ("break", "continue")
"""Exits that no loop lets out."""

IDLE = (Batch, Read)
"""Going on to other data, or looking at what is there: a round of that alone is none."""

ABSENT = frozenset({"GL202", "GL204", "GL501", "GL503", "GL504"})
"""Rules about something that did not happen: with an option, it may have happened elsewhere."""

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
        self,
        judge: Judge,
        *,
        stops: Collection[str] = frozenset(),
        most_visits: int = 50_000,
        most_outcomes: int = 50_000,
    ) -> None:
        self._stops = frozenset(stops)
        self._most_visits = most_visits
        self._most_outcomes = most_outcomes
        self.visits = 0
        """How many events were met on how many paths: the work that was done."""
        self.met: defaultdict[Visit, set[Path]] = defaultdict(set)
        """All the paths on which each event was met."""
        self._sure: defaultdict[Visit, defaultdict[Fault, set[Path]]] = defaultdict(
            lambda: defaultdict(set)
        )
        self._first_breach: dict[Fault, Breach] = {}
        self._events: dict[Visit, Event] = {}
        """What was judged to break a law, and where."""
        self._schedules: dict[Visit, Schedule] = {}
        """Where schedules move."""
        self._outcomes = Outcomes(judge, counts=False)
        self._stepped: set[str] = set()
        """Facts that tell that a path has come through a step before."""
        self._last_rounds: set[str] = set()
        """Facts that tell whether it is the last round of a loop."""
        self._acting: Facts = _NO_FACTS
        """Facts that tell that something has happened in a round, of the loops that are going."""
        self._left: defaultdict[Exit, Paths] = defaultdict(frozenset)
        """Paths on the way out of what is being run, by the kind of exit."""
        self._breaking_off: set[Path] | None = None
        """Inside a `try`: every path on which an exception can be raised in it."""

    @property
    def outcomes(self) -> int:
        """How many different things have happened to different pages."""
        return len(self._outcomes)

    def run(self, program: Program, paths: Paths = START) -> Paths:
        """Carry the paths through the program; returns those that reach its end."""
        return self._run(program, paths, ())

    def verdicts(
        self, options: Collection[str] | None = None
    ) -> dict[Visit, dict[Fault, Certainty]]:
        """For each event and round: what is certainly broken there, and what possibly.

        Without options, certain is what is broken each time. `options` are conditions that hold for
        a whole run: what is broken whenever one of them has some answer is certain too, for those
        who chose it; and a step that is broken each time but the first, or a schedule that is the
        first time.
        """
        return {
            visit: {
                fault: "certain"
                if self._certain(sure, self.met[visit], self._grounds(fault[0], options))
                or (options is not None and self._at_first(fault))
                else "possible"
                for fault, sure in faults.items()
            }
            for visit, faults in self._sure.items()
        }

    def _grounds(self, rule: str, options: Collection[str] | None) -> Collection[str]:
        """What a verdict may depend on and still be certain."""
        if options is None:
            return ()
        if rule == "GL101":
            # The first step is innocent: what counts is whether the next one can be.
            return {*options, *self._stepped}
        if rule == "GL504":
            # In the last round everything may be made up for: what counts are those before it.
            return self._last_rounds
        return () if rule in ABSENT else options

    def _at_first(self, fault: Fault) -> bool:
        """Of a schedule: is it too early on every path, whenever it moves for the first time?"""
        firsts = [
            path in self._sure.get(visit, {}).get(fault, ())
            for visit, event in self._schedules.items()
            if fault == ("GL503", event.at)
            for path in self.met[visit]
            if all(log.name != event.scheduler for log in path[0].schedulers)
        ]
        return bool(firsts) and all(firsts)

    def _certain(self, broken: set[Path], met: set[Path], options: Collection[str]) -> bool:
        if broken == met:
            return True
        if not broken or not options:
            return False
        chosen = {fact for _, facts in broken for fact in facts if fact[0] in options}
        return any(all(path in broken for path in met if fact in path[1]) for fact in chosen)

    def met_by(self, fault: Fault) -> Iterator[tuple[Event, Path]]:
        """Each path on which the events were met of which some broke this rule, at this place."""
        for visit, faults in self._sure.items():
            if fault in faults:
                yield from ((self._events[visit], path) for path in self.met[visit])

    def findings(
        self,
        yields_to: Mapping[str, frozenset[str]] | None = None,
        *,
        options: Collection[str] = frozenset(),
    ) -> tuple[Finding, ...]:
        """One per rule and place: certain, if it is certain in some round of some event."""
        best: dict[Fault, Certainty] = {}
        for faults in self.verdicts(options).values():
            for fault, certainty in faults.items():
                if best.get(fault) != "certain":
                    best[fault] = certainty
        found = []
        for (rule, at), certainty in best.items():
            breach = self._first_breach[rule, at]
            found.append(Finding(rule, at, breach.detail, certainty, breach.evidence, breach.cells))
        return one_per_fault(found, yields_to or {})

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
                return _without(paths, condition)
            case Tick():
                return frozenset(after for path in paths for after in _ticked(path, program))
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
        here = _NO_FACTS if isinstance(event, IDLE) else acting
        if isinstance(event, Step):
            name = f"stepped at {event.at.path}:{event.at.line}"
            self._stepped.add(name)
            here |= {(name, True)}
        elif isinstance(event, Schedule):
            self._schedules[visit] = event
        if self._breaking_off is not None:
            self._breaking_off |= paths
        # Many paths are on one page: what the event does to that is asked for once.
        outcomes: dict[int, Outcome] = {}
        met = self.met[visit]
        for path in paths:
            page, facts = path
            outcome = outcomes.get(id(page))
            if outcome is None:
                outcome = outcomes[id(page)] = self._outcomes.of(page, event)
            next_page, breaches, _ = outcome
            came = (page, facts - acting) if acting else path
            met.add(came)
            for rule, breach in breaches:
                fault = rule, breach.at
                known = self._first_breach.get(fault)
                # Paths come in no order: of all the ways to say it, always the same one.
                if known is not breach and (known is None or _order(breach) < _order(known)):
                    self._first_breach[fault] = breach
                on = self._sure[visit][fault]
                self._events[visit] = event
                if breach.sure:
                    on.add(came)
            if not any(rule in self._stops and breach.sure for rule, breach in breaches):
                after.add((next_page, facts | here if here else facts))
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

    def _loop(self, loop: Loop, paths: Paths, visit: Visit) -> Paths:
        outer, self._left = self._left, defaultdict(frozenset, self._left)
        self._left["break"] = self._left["continue"] = NO_PATHS
        rounds_ask = {condition for condition in (loop.last, loop.first) if condition}
        for condition in rounds_ask:
            paths = _without(paths, condition)
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
            ended = _knowing(ended, loop.ran_out, True)
            others = _knowing(others, loop.ran_out, False)
        ended |= others
        for condition in loop.anew | rounds_ask:
            ended = _without(ended, condition)
        outer.update({by: left for by, left in self._left.items() if by not in INSIDE})
        self._left = outer
        return ended

    def _round(self, loop: Loop, paths: Paths, visit: Visit) -> tuple[Paths, Paths]:
        """Once through the body: the paths that go round again, and those that may leave."""
        if loop.first is not None:
            known = frozenset({(loop.first, visit[-1] == "first")})
            paths = frozenset((p, f | known) for p, f in _without(paths, loop.first))
        if loop.last is not None:
            self._last_rounds.add(loop.last)
            paths = _without(paths, loop.last)
            paths = frozenset(
                (page, facts | {(loop.last, answer)})
                for page, facts in paths
                for answer in (True, False)
            )
        marks = _NO_FACTS
        if loop.first is None and not _always_acts(loop.body):
            marks = frozenset({(f"acts in {visit}", True)})
        after = self._marking(marks, lambda: self._run(loop.body, paths, visit))
        after |= self._left["continue"]
        self._left["continue"] = NO_PATHS
        for condition in loop.anew:
            after = _without(after, condition)
        # A round in which nothing happened, and which is not counted, is none: what follows it is
        # the same round again.
        going_on = after
        if marks:
            going_on = _unmarked((p for p in after if marks <= p[1] or p not in paths), marks)
            after = _unmarked(after, marks)
            self._left.update({by: _unmarked(left, marks) for by, left in self._left.items()})
        if loop.last is None:
            return going_on, after
        ended = frozenset(path for path in after if (loop.last, False) not in path[1])
        going_on = frozenset(path for path in going_on if (loop.last, True) not in path[1])
        return going_on, _without(ended, loop.last)

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
            breaking_off |= _unmarked(self._breaking_off, marks)
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


def _always_acts(program: Program) -> bool:
    """Does something happen in it on every path?"""
    match program:
        case Do(event):
            return not isinstance(event, IDLE)
        case Sequence(parts):
            for part in parts:
                if _always_acts(part):
                    return True
                if _may_leave(part):
                    return False
            return False
        case Branch(then, orelse):
            return _always_acts(then) and _always_acts(orelse)
        case Call(body):
            return _always_acts(body)
        case Loop(body, at_least):
            return at_least > 0 and _always_acts(body)
        case _:
            return False


def _may_leave(program: Program) -> bool:
    return isinstance(program, Leave) or any(map(_may_leave, program.inner))


def _order(breach: Breach) -> tuple[bool, int, str, str, list[str]]:
    """The same breach comes first in every run, whatever the order of sets."""
    told = breach.detail, repr(breach.evidence), sorted(breach.cells)
    return not breach.sure, len(breach.detail), *told


def _ticked(path: Path, tick: Tick) -> Iterator[Path]:
    """The path with each place in a window that can follow on its last one."""
    page, facts = path
    kept = frozenset(fact for fact in facts if fact[0] not in (tick.starts, tick.ends))
    if not {(tick.ends, False), (tick.ends, True)} & facts or (tick.ends, True) in facts:
        nexts = [(True, False)]
    elif tick.long and (tick.starts, True) in facts:
        nexts = [(False, False)]
    else:
        nexts = [(False, False), (False, True)]
    for starts, ends in nexts:
        yield page, kept | {(tick.starts, starts), (tick.ends, ends)}


def _unmarked(paths: Iterable[Path], marks: Facts) -> Paths:
    return frozenset((page, facts - marks) for page, facts in paths)


def _knowing(paths: Paths, condition: str, answer: bool) -> Paths:
    known = frozenset({(condition, answer)})
    return frozenset((page, facts | known) for page, facts in _without(paths, condition))


def _without(paths: Paths, condition: str) -> Paths:
    answers = frozenset({(condition, True), (condition, False)})
    if all(answers.isdisjoint(facts) for _, facts in paths):
        return paths  # as nearly always: conditions are forgotten that nobody has asked
    return frozenset((page, facts - answers) for page, facts in paths)


def _assume(paths: Paths, condition: str, answer: bool) -> Paths:
    """The paths on which the condition can have this answer, which they remember."""
    return frozenset(
        (page, facts | {(condition, answer)})
        for page, facts in paths
        if (condition, not answer) not in facts
    )
