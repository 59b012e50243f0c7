"""Checks one file: source in, findings out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from gradledger.ledger.events import Own
from gradledger.ledger.findings import Finding
from gradledger.ledger.values import replace
from gradledger.rules import catalogue
from gradledger.rules.catalogue import find, judge_source, stops
from gradledger.static.bind.binding import Binding
from gradledger.static.bind.events import TooManyOwners
from gradledger.static.certainty.raising import raised
from gradledger.static.domain.scopes import TOO_MUCH, TooMuchCode
from gradledger.static.ir.blocks import events_in, holds
from gradledger.static.ir.effects import Deposits
from gradledger.static.ir.program import Loop, Program
from gradledger.static.lower.lowering import Following
from gradledger.static.lower.root import THE_SCRIPT, Root
from gradledger.static.lower.roots import Roots
from gradledger.static.lower.training import (
    goes_round,
    is_torch,
    may_be_torch,
    training_in,
)
from gradledger.static.project.project import Project
from gradledger.static.result import Checked, Unknown
from gradledger.static.solve.interpreter import Interpreter, TooManyPaths
from gradledger.static.source.files import Source, Trouble
from gradledger.static.source.patterns import does, says
from gradledger.static.source.vocabulary import BACKWARDS, LEAVES_WINDOWS, STEPS_OTHERS

TOO_DEEP = "it is nested too deeply"
TOO_MANY = "there are too many paths through it"
TOO_LATE = "the rest of its file took all the time that there was"
IN_PART = "of its many paths, only deposits, steps and clears were followed"
ONE_BY_ONE = "of its many paths, only those of each optimizer by itself were followed"

OF_ONE_OWNER = frozenset(
    {"GL101", "GL301", "GL302", "GL401", "GL402", "GL502", "GL503", "GL504", "GL701", "GL702"}
)
"""Rules that need not know what becomes of other optimizers' cells."""

MOST_EVENTS = 600
MOST_VISITS = 40_000
MOST_OUTCOMES = 2_000
"""Bounds on the work for one root: what takes more is unknown."""

MOST_VISITS_IN_A_FILE = 100_000
MOST_OUTCOMES_IN_A_FILE = 10_000
"""Bounds on the work for all of its roots together."""


def has_gradients(source: Source) -> bool:
    """Is there anything to follow in the file? Other libraries have gradients, with other laws."""
    text = source.text
    acts = does(text, BACKWARDS) or says(text, LEAVES_WINDOWS) or does(text, STEPS_OTHERS)
    return acts and may_be_torch(text)


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
    found: list[Finding] = []
    unknown: list[Unknown] = []
    followed = 0
    effort = _Effort()
    followed_roots: list[Root] = []
    training: tuple[str, ...] = ()
    try:
        following = Following(project, module)
        if calls and not goes_round(module, following.top):
            return Checked()
        for root in Roots(following).all():
            findings, why = _judged(root, effort)
            if root.what != THE_SCRIPT and why is not None:
                followed_roots.append(root)
            if why == TOO_MANY:
                # Its neighbours are likely no better, and tests come by the dozen.
                effort.most_outcomes = MOST_OUTCOMES // 3
            found += _by_torchs_laws(findings, root, project)
            if why:
                unknown.append(Unknown(root.at.path, root.at.line, root.what, why))
            followed += why == ""
        found += _wasted_in_turns(followed_roots, effort, project)
        training = training_in(module, following.trained)
    except RecursionError:
        unknown.append(Unknown(source.path, 1, "the file", TOO_DEEP))
    except TooMuchCode:  # between two roots
        unknown.append(Unknown(source.path, 1, "the file", TOO_MUCH))
    if not followed and not unknown:
        from gradledger.static.lower.unfollowed_code import unfollowed

        unknown += unfollowed(module)
    return Checked(_once_each(found), tuple(unknown), followed, training)


def _by_torchs_laws(
    findings: tuple[Finding, ...], root: Root, project: Project
) -> Iterator[Finding]:
    """The findings, as possible ones where nothing says that it is torch which trains.

    Neither the file that one begins with, nor that in which the law is broken, nor an optimizer. A
    net that is written by hand has a `backward` too, which need not add to what was there.
    """
    begins = "" if root.module is None else root.module.source
    sure = is_torch(begins) or any(o.torchs for o in root.optimizers.values())
    for finding in findings:
        if sure or is_torch(project.text(finding.at.path)):
            yield finding
        elif not find(finding.rule).show_possible:
            yield replace(finding, certainty="possible")


class _Effort:
    """How far the programs of a file are followed, and how far that still is."""

    def __init__(self) -> None:
        self.most_outcomes = MOST_OUTCOMES
        """Of one root."""
        self._visits = MOST_VISITS_IN_A_FILE
        self._outcomes = MOST_OUTCOMES_IN_A_FILE

    @property
    def is_spent(self) -> bool:
        """Is nothing left for other roots?"""
        return not (self._visits and self._outcomes)

    def findings(self, program: Program, options: set[str]) -> tuple[Finding, ...]:
        """What the program breaks; raises TooManyPaths where that takes too long to tell."""
        interpreter = Interpreter(
            judge_source,
            stops=stops,
            most_visits=min(MOST_VISITS, self._visits),
            most_outcomes=min(self.most_outcomes, self._outcomes),
        )
        try:
            interpreter.run(program)
        finally:
            self._visits = max(self._visits - interpreter.visits, 0)
            self._outcomes = max(self._outcomes - interpreter.outcomes, 0)
        if not interpreter.any_broken:
            return ()  # before more of the rules is loaded
        return tuple(
            raised(finding, program, options, interpreter)
            for finding in interpreter.findings(catalogue.YIELDS_TO, options=options)
        )


def _judged(
    root: Root, effort: _Effort, is_worth_it: Callable[[Program], bool] = bool
) -> tuple[tuple[Finding, ...], str | None]:
    """The findings of a root, and why it is unknown; None where it has no gradients."""
    if root.program is None:
        return (), root.why
    if not (root.unwalked or holds(root.program, Deposits)):
        return (), root.unknown[0][1] if root.unknown else None
    if effort.is_spent:
        return (), TOO_LATE
    if any(islice(events_in(root.program), MOST_EVENTS, None)):
        return (), TOO_MUCH
    binding = Binding(
        root.program,
        root.optimizers,
        root.condition_names,
        root.strays,
        root.contents,
        root.only_shown,
    )
    if not (root.unwalked or binding.worth_following):
        return (), root.unknown[0][1] if root.unknown else None
    try:
        program = binding.program()
    except TooManyOwners:
        return (), "it has too many optimizers whose parameters are not known"
    if not is_worth_it(program):
        return (), None
    try:
        findings = effort.findings(program, binding.options)
    except RecursionError:
        return (), TOO_DEEP
    except TooManyPaths:
        findings, why = _in_part(program, binding.options, effort)
    else:
        why = root.unknown[0][1] if root.unknown else ""
    if findings:
        from gradledger.static.certainty.by_rule import sobered
        from gradledger.static.certainty.option_defaults import told
        from gradledger.static.certainty.sight import Sight

        sight = Sight(program, root, sees_all=binding.sees_all)
        findings = tuple(sobered(findings, sight))
        if root.module is not None:
            findings = tuple(told(findings, program, root.module))
    return findings, why


def _in_part(
    program: Program, options: set[str], effort: _Effort
) -> tuple[tuple[Finding, ...], str]:
    """What can be said of a program with too many paths, and how it was looked at."""
    from gradledger.static.ir.essentials import essential
    from gradledger.static.ir.one_optimizer import alone, owners

    found: list[Finding]
    less = essential(program)
    if less != program:
        try:
            found = [*effort.findings(less, options)]
        except TooManyPaths:
            pass
        else:
            for owner in _owners(program):
                found += _of_schedules(program, owner, options, effort)
            return _once_each(found), IN_PART
    found = []
    left_out: list[Own] = []
    several = owners(program)
    for owner in several:
        try:
            findings = effort.findings(alone(program, owner), options)
        except TooManyPaths:
            left_out.append(owner)
            continue
        found += (finding for finding in findings if finding.rule in OF_ONE_OWNER)
    for owner in left_out if several else _owners(program):
        found += _of_schedules(program, owner, options, effort)
    if len(left_out) == len(several):
        return _once_each(found), TOO_MANY
    names = ", ".join(owner.optimizer for owner in left_out)
    return _once_each(found), f"{ONE_BY_ONE}, and not those of {names}" if names else ONE_BY_ONE


def _owners(program: Program) -> Iterator[Own]:
    return (event for event in events_in(program) if isinstance(event, Own))


def _of_schedules(
    program: Program, owner: Own, options: set[str], effort: _Effort
) -> Iterator[Finding]:
    """What the schedules of an optimizer do too early, which takes little to tell."""
    from gradledger.static.ir.schedules import comes_first, has_schedules, moving

    if not has_schedules(program, owner):
        return
    try:
        findings = effort.findings(moving(program, owner), options)
    except TooManyPaths:
        return
    for finding in findings:
        # Whose step comes before it is a guess where one name stands for several optimizers.
        if finding.rule == "GL503" and comes_first(finding.at, program):
            yield finding


def _wasted_in_turns(followed: list[Root], effort: _Effort, project: Project) -> Iterator[Finding]:
    """What functions compute for nothing if they are called again and again."""
    if not followed:
        return
    from gradledger.static.lower.implicit_loops import deposited_once, mixes, taken_again

    for root in taken_again(followed):
        assert isinstance(root.program, Loop)
        sites = set(deposited_once(root.program.body))
        for finding in _by_torchs_laws(_judged(root, effort, mixes)[0], root, project):
            deposits = {e.at for e in finding.evidence if e.what == "deposited"}
            if finding.rule == "GL204" and finding.certainty == "certain" and deposits <= sites:
                yield finding


def _once_each(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One per rule and line: the surest, however the code came there."""
    best: dict[tuple[str, str, int], Finding] = {}
    for finding in findings:
        key = finding.rule, finding.at.path, finding.at.line
        known = best.get(key)
        if known is None or (known.certainty, finding.certainty) == ("possible", "certain"):
            best[key] = finding
    return tuple(best.values())
