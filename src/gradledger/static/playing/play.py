"""A play: what happens on one path, line by line, with what every cell holds after it."""

from __future__ import annotations

from collections.abc import Iterator

from gradledger.ledger import Outcomes, Page
from gradledger.ledger.events import Backward, Event, Fault
from gradledger.ledger.findings import Finding
from gradledger.ledger.places import Place
from gradledger.plays.cells import Json, line_in
from gradledger.plays.steps import SHOWN, VERSION, add_faults, step_of
from gradledger.rules.catalogue import find, judge_source
from gradledger.static.certainty.witnesses import assumptions_of
from gradledger.static.check import Followed, followed_roots
from gradledger.static.ir.blocks import pieces
from gradledger.static.ir.program import Loop
from gradledger.static.playing.walk import Happening, Walk
from gradledger.static.project.project import Project
from gradledger.static.solve.witness import Search, Trail
from gradledger.static.source.files import Source
from gradledger.static.source.suppression import IgnoreComments


def plays(path: str, text: str) -> list[Json]:
    """A play for each part of a file that trains and that can be followed; without those, none."""
    source = Source(path, text)
    made = (_play(followed, source) for followed in followed_roots(source, Project()))
    return [play for play in made if play["steps"]]


def _play(followed: Followed, source: Source) -> Json:
    page, outcomes = Page(), Outcomes(judge_source, counts=False)
    ignores = IgnoreComments(source.text)
    shown = [
        f for f in followed.findings if f.certainty != "possible" and not _is_ignored(f, ignores)
    ]
    findings = {(finding.rule, finding.at) for finding in shown}
    steps: list[Json] = []
    for happening in _path(followed, shown):
        event = happening.event
        after, breaches, _ = outcomes.of(page, event)
        broken = {rule: b.detail for rule, b in breaches if (rule, b.at) in findings}
        line = line_in(event.at, source.path)
        if broken and type(event) not in SHOWN and steps:
            add_faults(steps[-1], broken)  # an epoch's end is told where it shows
        if type(event) in SHOWN and line is not None and not _is_beginning(event, followed):
            step = step_of(event, page, after, source.path, _rounds(happening))
            add_faults(step, broken)
            steps.append(step)
        page = after
    lanes = [{"name": account.name, "line": account.made_at.line} for account in page.accounts]
    return {
        "version": VERSION,
        "path": source.path,
        "what": followed.root.what,
        "code": source.text.splitlines(),
        "lanes": lanes,
        "steps": steps,
        "findings": [_told(finding, source.path) for finding in shown],
    }


def _is_ignored(finding: Finding, ignores: IgnoreComments) -> bool:
    """True if a comment says to ignore it: then nothing is marked, as nothing is reported."""
    return ignores.of(finding.rule, finding.at.line) is not None


def _path(followed: Followed, shown: list[Finding]) -> Iterator[Happening]:
    """To the worst finding and on; where an exception leads to it, just the way there."""
    given = _given(followed)
    assumptions = assumptions_of(followed.root, given, followed.program)
    search = Search(followed.program, judge_source)
    trails: list[Trail] = []
    for finding in shown:
        trail = search.cheapest((finding.rule, finding.at), assumptions.price)
        if trail is not None:
            trails.append(trail)
    for trail in trails:
        if any(isinstance(happening.event, Fault) for happening in trail.happenings):
            yield from (Happening(h.event, h.rounds) for h in trail.happenings)
            return
    wanted = frozenset(d for trail in trails for d in trail.decisions)
    over = any(finding.rule == "GL203" for finding in shown)
    walk = Walk(followed.program, wanted=wanted, price=assumptions.price, leaves_over=over)
    yield from walk.happenings()


def _given(followed: Followed) -> frozenset[Place]:
    return frozenset(o.made_at for o in followed.root.optimizers.values() if o.outside)


def _is_beginning(event: Event, followed: Followed) -> bool:
    """What optimizers from outside did before is no line of this code."""
    return event.at in _given(followed)


def _rounds(happening: Happening) -> list[Json]:
    """`epoch 1, iteration 3`: the round of each loop around it. Of three, the middle is a batch."""
    outer, inner = iter(("epoch", "batch")), iter(("iteration", "inner round"))
    return [
        {"unit": next(outer if _has_inner(loop) else inner, "round"), "number": number}
        for loop, number in happening.rounds
    ]


def _has_inner(loop: Loop) -> bool:
    return any(isinstance(piece, Loop) and Backward in piece.kinds for piece in pieces(loop.body))


def _told(finding: Finding, path: str) -> Json:
    rule = find(finding.rule)
    return {
        "rule": finding.rule,
        "name": rule.name,
        "severity": rule.severity.value,
        "line": line_in(finding.at, path),
        "says": rule.says,
    }
