"""From breaches to findings: certain, likely or possible. The one place where that is decided.

1. By paths: broken on all paths of a round, or on some (`by_paths`, with the rule's conditions).
2. By view: what was followed in part tells little of some rules.
3. By sight: is the code around it understood well enough (the rule's `grounds`)?
4. By notes: does something in the code speak against it (`notes`)?
5. By library: is it torch that trains?
6. By rule: what is broken on some paths is likely where the rule says that most programs take them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from gradledger.ledger.findings import Finding, is_surer, one_per_fault
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.rules.catalogue import YIELDS_TO, find
from gradledger.static.certainty.by_paths import levels
from gradledger.static.certainty.by_rule import conditions_of
from gradledger.static.certainty.notes import speaking_against
from gradledger.static.certainty.option_defaults import told
from gradledger.static.certainty.sight import Sight
from gradledger.static.ir.schedules import comes_first
from gradledger.static.lower.training import is_torch
from gradledger.static.solve.solver import Solution


def findings(
    solutions: list[Solution],
    sight: Sight,
    options: Collection[str],
    text_of: Callable[[str], str],
) -> tuple[Finding, ...]:
    """What the program of a root breaks. `text_of` gives the source of a file."""
    seen = [f for solution in solutions for f in _seen(solution, options, sight)]
    sure = tuple(_sobered(seen if len(solutions) == 1 else once_each(seen), sight))
    if sight.root.module is not None:
        sure = tuple(told(sure, sight.program, sight.root.module))
    return tuple(_by_library_and_rule(sure, sight, text_of))


def by_paths(solution: Solution, options: Collection[str] = ()) -> tuple[Finding, ...]:
    """The breaches of one solution as findings, by the paths on which they happen."""
    met = solution.met
    found = []
    for (rule, at), certainty in levels(met, options).items():
        breach = met.first_breach[rule, at]
        found.append(Finding(rule, at, breach.detail, certainty, breach.evidence, breach.cells))
    return one_per_fault(found, YIELDS_TO)


def _seen(solution: Solution, options: Collection[str], sight: Sight) -> Iterator[Finding]:
    """The findings of a solution that its view is enough for."""
    if not solution.met.any_broken:
        return
    for finding in by_paths(solution, options):
        conditions = conditions_of(finding.rule)
        if solution.view == "one optimizer" and not conditions.of_one_optimizer:
            continue
        # Whose step comes before it is a guess where one name stands for several optimizers.
        if solution.view == "schedules" and not (
            conditions.of_schedules and comes_first(finding.at, sight.program)
        ):
            continue
        if finding.certainty != "certain" and conditions.certain_anyway(finding, solution, options):
            yield replace(finding, certainty="certain")
        else:
            yield finding


def _sobered(found: Iterable[Finding], sight: Sight) -> Iterator[Finding]:
    """The findings; those that lack their grounds as possible ones, or not at all."""
    for finding in found:
        conditions = conditions_of(finding.rule)
        if sight.nobody_steps and not conditions.of_missing_steps:
            continue  # all else follows from that
        carried = conditions.grounds(finding, sight)
        if carried is None:
            continue
        sure = carried and not any(speaking_against(finding, sight))
        yield finding if sure else replace(finding, certainty="possible")


def _by_library_and_rule(
    found: Iterable[Finding], sight: Sight, text_of: Callable[[str], str]
) -> Iterator[Finding]:
    """The findings, as possible ones where nothing says that it is torch which trains.

    What would be likely is left out then. Neither the file that one begins with says so, nor that
    in which the law is broken, nor an optimizer. A net that is written by hand has a `backward`
    too, which need not add to what was there.
    """
    root = sight.root
    begins = "" if root.module is None else root.module.source
    sure = is_torch(begins) or any(o.torchs for o in root.optimizers.values())
    for finding in found:
        likely = find(finding.rule).likely_on_some_paths
        if sure or is_torch(text_of(finding.at.path)):
            unsure = likely and finding.certainty == "possible"
            yield replace(finding, certainty="likely") if unsure else finding
        elif not likely:
            yield replace(finding, certainty="possible")


def in_turns(
    found: Iterable[Finding], sites: Collection[Place], judged: Collection[str]
) -> Iterator[Finding]:
    """Of a function that is called again and again: what each call surely breaks.

    `sites` are where each call makes one deposit, `judged` what can be judged of such a function.
    """
    for finding in found:
        deposits = {e.at for e in finding.evidence if e.what == "deposited"}
        certain = finding.certainty == "certain" and conditions_of(finding.rule).in_turns in judged
        if certain and deposits.issubset(sites):
            yield finding


def once_each(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """One per rule and line: the surest, however the code came there."""
    best: dict[tuple[str, str, int], Finding] = {}
    for finding in found:
        key = finding.rule, finding.at.path, finding.at.line
        known = best.get(key)
        if known is None or is_surer(finding, known):
            best[key] = finding
    return tuple(best.values())
