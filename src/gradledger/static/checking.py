"""Checks one file: source in, findings out."""

from __future__ import annotations

from collections.abc import Iterable

from gradledger.ledger.findings import Finding
from gradledger.rules import CATALOGUE, YIELDS_TO, judge
from gradledger.static.checked import Checked, Unknown
from gradledger.static.interpreter import Interpreter, TooManyPaths
from gradledger.static.lowering.binding import Binding
from gradledger.static.lowering.roots import Root, is_torch, roots
from gradledger.static.lowering.settling import TooManyOwners
from gradledger.static.program import Program
from gradledger.static.project import DEPOSITS, STEPS, Project
from gradledger.static.reading.sources import Source, Trouble
from gradledger.static.words import says

STOPS = frozenset(rule.code for rule in CATALOGUE if rule.stops)
SEEN = frozenset(rule.code for rule in CATALOGUE if rule.seen_by.by_check)

TOO_DEEP = "it is nested too deeply"
TOO_MANY = "there are too many paths through it"
IN_PART = "of its many paths, only deposits, steps and clears were followed"

MOST_VISITS = 40_000
MOST_OUTCOMES = 2_000
"""Bounds on the work for one root: what takes more is unknown."""


def has_gradients(source: Source) -> bool:
    """Is there anything to follow in the file? Other libraries have gradients, with other laws."""
    text = source.text
    return (says(text, DEPOSITS) or says(text, STEPS)) and is_torch(text)


def check_source(source: Source, project: Project) -> Checked:
    """The laws that the file breaks, on every path that can be followed."""
    if not has_gradients(source):
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
    most = MOST_OUTCOMES
    try:
        for root in roots(project, module):
            findings, why = _judged(root, most)
            if why == TOO_MANY:
                # Its neighbours are likely no better, and tests come by the dozen.
                most = MOST_OUTCOMES // 3
            found += findings
            if why:
                unknown.append(Unknown(root.at.path, root.at.line, root.what, why))
            followed += why == ""
    except RecursionError:
        unknown.append(Unknown(source.path, 1, "the file", TOO_DEEP))
    return Checked(_once_each(found), tuple(unknown), followed)


def _judged(root: Root, most: int) -> tuple[tuple[Finding, ...], str | None]:
    """The findings of a root, and why it is unknown; None where it has no gradients."""
    if root.program is None:
        return (), root.why
    binding = Binding(
        root.program,
        root.optimizers,
        root.condition_names,
        root.strays,
        root.contents,
    )
    if not binding.worth_following:
        return (), root.unknown[0][1] if root.unknown else None
    try:
        program = binding.program()
    except TooManyOwners:
        return (), "it has too many optimizers whose parameters are not known"
    try:
        findings = _findings(program, binding.options, most)
    except RecursionError:
        return (), TOO_DEEP
    except TooManyPaths:
        from gradledger.static.lowering.essentials import essential

        less = essential(program)
        if less == program:
            return (), TOO_MANY
        try:
            findings = _findings(less, binding.options, most)
        except TooManyPaths:
            return (), TOO_MANY
        why = IN_PART
    else:
        why = root.unknown[0][1] if root.unknown else ""
    findings = tuple(finding for finding in findings if finding.rule in SEEN)
    if findings:
        from gradledger.static.grounds import Grounds

        grounds = Grounds(program, root, sees_all=binding.sees_all)
        findings = tuple(grounds.sobered(findings))
    return findings, why


def _findings(program: Program, options: set[str], most: int) -> tuple[Finding, ...]:
    interpreter = Interpreter(judge, stops=STOPS, most_visits=MOST_VISITS, most_outcomes=most)
    interpreter.run(program)
    return interpreter.findings(YIELDS_TO, options=options)


def _once_each(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One per rule and line: the surest, however the code came there."""
    best: dict[tuple[str, str, int], Finding] = {}
    for finding in findings:
        key = finding.rule, finding.at.path, finding.at.line
        known = best.get(key)
        if known is None or (known.certainty, finding.certainty) == ("possible", "certain"):
            best[key] = finding
    return tuple(best.values())
