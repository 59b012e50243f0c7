"""Checks one file: source → project → roots → lower → bind → solve → certainty → result."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from gradledger.ledger import Outcomes
from gradledger.ledger.findings import Finding
from gradledger.ledger.values import Value
from gradledger.rules.catalogue import judge_source, stops
from gradledger.static import budget
from gradledger.static.bind.binding import Binding
from gradledger.static.bind.events import TooManyOwners
from gradledger.static.domain.scopes import TOO_MUCH, TooMuchCode
from gradledger.static.ir.blocks import events_in, holds
from gradledger.static.ir.effects import Deposits
from gradledger.static.ir.program import Loop, Program
from gradledger.static.lower.deepspeed import engine_trains
from gradledger.static.lower.lowering import Following
from gradledger.static.lower.missing_backward import optimizers_without_backward
from gradledger.static.lower.root import THE_SCRIPT, Root
from gradledger.static.lower.root_objects import (
    contents_of,
    copied_nets,
    sums_only_shown,
    torchs_losses,
    untrained_models,
)
from gradledger.static.lower.roots import Roots
from gradledger.static.lower.training import fills_in, goes_round, may_be_torch, training_in
from gradledger.static.project.project import Project
from gradledger.static.result import Checked, Unknown
from gradledger.static.solve.solver import Solver
from gradledger.static.source.files import Source, Trouble
from gradledger.static.source.patterns import does, says
from gradledger.static.source.vocabulary import (
    BACKWARDS,
    HANDS_BOTH,
    HANDS_LOSS,
    LEAVES_WINDOWS,
    STEPS_OTHERS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradledger.static.certainty.witnesses import Witnesses
    from gradledger.static.lower.inner_cycles import InnerCycles

TOO_DEEP = "it is nested too deeply"
TOO_LATE = "the rest of its file took all the time that there was"
TOO_MANY_OPTIMIZERS = "it has too many optimizers whose parameters are not known"


def has_gradients(source: Source) -> bool:
    """True if there is anything to follow. Other libraries have gradients, with other laws."""
    text = source.text
    acts = does(text, BACKWARDS) or says(text, LEAVES_WINDOWS) or does(text, STEPS_OTHERS)
    return (acts or does(text, HANDS_LOSS)) and may_be_torch(text)


def check_source(source: Source, project: Project, *, calls: bool = False) -> Checked:
    """The laws that the file breaks, on every path that can be followed.

    A file that `calls` what trains in another one need not say anything of gradients itself.
    """
    if not (calls or has_gradients(source)):
        return Checked()
    project.begin()
    try:
        module = project.module(source)
    except RecursionError:
        return Checked(unknown=(Unknown(source.path, 1, "the file", TOO_DEEP),))
    if isinstance(module, Trouble):
        return Checked()
    told = _Told()
    training: tuple[str, ...] = ()
    work = _Work(project)
    try:
        following = Following(project, module)
        if calls and not (goes_round(module, following.top) or fills_in(module, following.top)):
            return Checked()
        for number, root in enumerate(Roots(following).all()):
            if number == budget.MOST_ROOTS_IN_A_FILE:
                raise TooMuchCode(TOO_MUCH)
            _check_one_of_all(root, following, work, told)
        told.found += _check_turns(told.functions, work)
        training = training_in(module, following.trained)
        if not told.unknown:
            _look_at_the_rest(following, project, told)
    except RecursionError:
        told.unknown.append(Unknown(source.path, 1, "the file", TOO_DEEP))
    except TooMuchCode:  # between two roots
        told.unknown.append(Unknown(source.path, 1, "the file", TOO_MUCH))
    if len(told.found) > 1:
        from gradledger.static.certainty.findings import once_each

        told.found = list(once_each(told.found))
    return Checked(tuple(told.found), tuple(told.unknown), told.followed, training)


class _Told:
    """What the roots of a file have come to so far."""

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.unknown: list[Unknown] = []
        self.followed = 0
        self.functions: list[Root] = []
        """The roots that somebody out of sight may call again and again."""
        self.spending_nothing: set[int] = set()
        """By identity, functions that were followed to their end without a step."""
        self.inner: InnerCycles | None = None
        """Loaded with the first root that is unknown."""


def _check_one_of_all(root: Root, following: Following, work: _Work, told: _Told) -> None:
    """Checks a root of a file; of one that is unknown, the whole cycles inside."""
    findings, why = _check_root(root, work)
    told.found += findings
    if why is None and root.spends_nothing:
        told.spending_nothing.add(id(root.node))
    if why:
        if told.inner is None:
            from gradledger.static.lower.inner_cycles import InnerCycles

            told.inner = InnerCycles(following)
        alone, inside = _check_inside(root, told.inner, work)
        told.found += inside
        told.followed += alone
        if not (alone and told.inner.cover(root)):
            told.unknown.append(Unknown(root.at.path, root.at.line, root.what, why))
    told.followed += why == ""
    if root.what != THE_SCRIPT and why is not None:
        told.functions.append(root)


def _look_at_the_rest(following: Following, project: Project, told: _Told) -> None:
    """Whether something trains that no root came by, where all of these were followed."""
    module, text = following.module, following.module.source
    if not told.followed and module.says_anywhere(BACKWARDS):
        from gradledger.static.lower.unfollowed_code import backwards
        from gradledger.static.lower.unspent_gradients import Unspent

        nothing = Unspent(following.top, told.spending_nothing)
        told.unknown, told.followed = backwards(module, nothing)
    elif not told.followed or any(word in text for word in HANDS_BOTH):
        from gradledger.static.lower.unfollowed_code import steps_alone, unfollowed

        told.unknown += unfollowed(module, project, following.trained)
        if not (told.followed or told.unknown or told.found) and "zero_grad(" in text:
            told.unknown += steps_alone(module, module.tree.body)


class Followed(Value):
    """A root that was followed: its program of events, and what that breaks."""

    root: Root
    program: Program
    findings: tuple[Finding, ...]


def followed_roots(source: Source, project: Project) -> Iterator[Followed]:
    """Each root of a file that has gradients and can be followed, for those who show its path."""
    project.begin()
    module = project.module(source)
    if isinstance(module, Trouble):
        return
    work = _Work(project)
    for root in Roots(Following(project, module)).all():
        bound, _ = _bind(root, work.solver)
        if bound is not None:
            yield Followed(root, bound.program, _judge(root, bound, work)[0])


class _Work:
    """What the roots of a file share: the project, the solver and the search for witnesses."""

    def __init__(self, project: Project) -> None:
        self.project = project
        known = project.outcomes
        if known is None or len(known) > budget.MOST_OUTCOMES_KEPT:
            known = project.outcomes = Outcomes(judge_source, counts=False)
        self._outcomes = known
        self.solver = Solver(judge_source, outcomes=known, stops=stops)
        self._witnesses: Witnesses | None = None
        self._apart: _Work | None = None

    @property
    def apart(self) -> _Work:
        """For the cycles of roots on which all of this was spent."""
        if self._apart is None:
            self._apart = _Work(self.project)
        return self._apart

    @property
    def witnesses(self) -> Witnesses:
        """Loaded with the first finding of the file."""
        if self._witnesses is None:
            from gradledger.static.certainty.witnesses import Witnesses

            self._witnesses = Witnesses(self._outcomes, stops)
        return self._witnesses


def _check_root(root: Root, work: _Work) -> tuple[tuple[Finding, ...], str | None]:
    """The findings of a root, and why it is unknown; None where it has no gradients."""
    bound, why = _bind(root, work.solver)
    return ((), why) if bound is None else _judge(root, bound, work)


def _check_inside(root: Root, inner: InnerCycles, work: _Work) -> tuple[int, list[Finding]]:
    """How many whole cycles of an unknown root were followed by themselves to their end.

    And the findings of all of them: what was found on a part of the paths is found.
    """
    followed = 0
    found: list[Finding] = []
    for cycle in islice(inner.inside(root), budget.MOST_INNER_CYCLES):
        findings, why = _check_root(cycle, work.apart)
        found += findings
        if why == "":
            inner.was_judged(cycle)
            followed += 1
    return followed, found


def _check_turns(functions: list[Root], work: _Work) -> Iterator[Finding]:
    """What functions do if somebody out of sight calls them again and again."""
    if not functions:
        return
    from gradledger.static.lower.implicit_loops import deposited_once, taken_again

    for root, judged in taken_again(functions):
        assert isinstance(root.program, Loop)
        bound, _ = _bind(root, work.solver)
        findings = _judge(root, bound, work)[0] if bound else ()
        if findings:
            from gradledger.static.certainty.findings import in_turns

            yield from in_turns(findings, set(deposited_once(root.program.body)), judged)


class _Bound(Value):
    """The program of a root, with events on cells."""

    program: Program
    options: set[str]
    sees_all: bool


def _bind(root: Root, solver: Solver) -> tuple[_Bound | None, str | None]:
    """The program with events on cells; or why there is none, None where it has no gradients."""
    if root.program is None:
        return None, root.why
    forgotten = optimizers_without_backward(root)
    if not (forgotten or holds(root.program, Deposits)):
        trained = root.machine is not None and engine_trains(root.machine)
        return None, _first_unknown(root) or ("" if trained else None)
    if solver.is_spent:
        return None, TOO_LATE
    if any(islice(events_in(root.program), budget.MOST_EVENTS, None)):
        return None, TOO_MUCH
    binding = Binding(
        root.program,
        root.optimizers,
        root.condition_names,
        untrained_models(root),
        contents_of(root),
        sums_only_shown(root),
        copied_nets(root),
        torchs_losses(root),
    )
    if not (forgotten or binding.worth_following):
        return None, _first_unknown(root)
    try:
        return _Bound(binding.program(), binding.options, binding.sees_all), ""
    except TooManyOwners:
        return None, TOO_MANY_OPTIMIZERS


def _judge(root: Root, bound: _Bound, work: _Work) -> tuple[tuple[Finding, ...], str]:
    """What the program breaks on its paths, how certain that is, and what was not followed."""
    try:
        solutions, why = work.solver.solve(bound.program)
    except RecursionError:
        return (), TOO_DEEP
    why = why or _first_unknown(root) or ""
    if not any(solution.met.any_broken for solution in solutions):
        return (), why  # before more of the rules is loaded
    from gradledger.static.certainty.findings import findings
    from gradledger.static.certainty.sight import Sight

    sight = Sight(bound.program, root, sees_all=bound.sees_all)
    found = findings(solutions, sight, bound.options, work.project.text)
    return tuple(work.witnesses.of(found, bound.program, root)) if found else (), why


def _first_unknown(root: Root) -> str | None:
    return root.unknown[0][1] if root.unknown else None
