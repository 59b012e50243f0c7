"""A witness for each finding: the path that shows it, and what that path takes for granted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gradledger.ledger import Outcomes
from gradledger.ledger.findings import GOES_ROUND, ONLY_WITH, Finding
from gradledger.ledger.places import Place
from gradledger.ledger.values import replace
from gradledger.static import budget
from gradledger.static.certainty.assumptions import Assumptions
from gradledger.static.certainty.condition_words import Defaults
from gradledger.static.certainty.cures import with_cure
from gradledger.static.certainty.witness_steps import steps_of
from gradledger.static.ir.blocks import conditions_in, events_in, mapped
from gradledger.static.ir.effects import HandsOver
from gradledger.static.ir.program import Branch, Forget, Loop, Program
from gradledger.static.lower.root import Root
from gradledger.static.lower.root_objects import names_of
from gradledger.static.solve.breaches import Fault
from gradledger.static.solve.small_steps import Decision
from gradledger.static.solve.witness import Search, Trail, exactly


class Witnesses:
    """Finds the witnesses of a file's findings, all within one budget."""

    def __init__(self, outcomes: Outcomes, stops: Callable[[str], bool]) -> None:
        self._outcomes = outcomes
        self._stops = stops
        self._left = budget.MOST_WITNESS_STEPS_IN_A_FILE

    def of(
        self,
        findings: Iterable[Finding],
        program: Program,
        root: Root,
    ) -> Iterator[Finding]:
        """The findings of a program with their cures, and with their witnesses if found in time."""
        for finding in self._witnessed(findings, program, root):
            yield with_cure(finding, program, root)

    def _witnessed(
        self, findings: Iterable[Finding], program: Program, root: Root
    ) -> Iterator[Finding]:
        given = frozenset(o.made_at for o in root.optimizers.values() if o.outside)
        assumptions = assumptions_of(root, given, program)
        search = Search(program, self._outcomes, stops=self._stops)
        found = list(findings)
        search.budget = most = min(budget.MOST_WITNESS_STEPS, self._left)
        trails = [_cheapest(search, (f.rule, f.at), assumptions) for f in found]
        self._left -= most - search.budget
        search.budget = most = min(budget.MOST_STEPS_FOR_NEED, self._left)
        for finding, trail in zip(found, trails, strict=True):
            if trail is None:
                yield finding
                continue
            exact = exactly(trail, self._outcomes, (finding.rule, finding.at))
            if exact is not None and search.counts:
                finding = replace(finding, detail=exact.detail)
            steps = steps_of(trail, finding, given)
            told = tuple(_assumed(trail, (finding.rule, finding.at), program, search, assumptions))
            yield replace(finding, witness=steps, assumptions=told)
        self._left -= most - search.budget


def assumptions_of(root: Root, given: frozenset[Place], program: Program) -> Assumptions:
    """Prices and words for what paths of this root take for granted."""
    effects = () if root.program is None else events_in(root.program)
    return Assumptions(
        Defaults(root.module),
        options=frozenset(conditions_in(program) - _changing(program, in_loop=False)),
        unknown_calls=frozenset(e.at for e in effects if isinstance(e, HandsOver)),
        given=given,
        code=_quoting(root),
        called=names_of(root),
    )


def _cheapest(search: Search, fault: Fault, assumptions: Assumptions) -> Trail | None:
    """The cheapest path to a fault; with windows as large as the source says, if there is one."""
    return search.counted(fault, assumptions.price) or search.cheapest(fault, assumptions.price)


def _changing(program: Program, *, in_loop: bool) -> set[str]:
    """Conditions that a loop assigns anew: what does not change holds for the whole run."""
    if isinstance(program, Forget):
        return {program.condition} if in_loop else set()
    in_loop = in_loop or isinstance(program, Loop)
    return set().union(*(_changing(piece, in_loop=in_loop) for piece in program.inner))


def _assumed(
    trail: Trail, fault: Fault, program: Program, search: Search, assumptions: Assumptions
) -> Iterator[str]:
    """What the path takes for granted and could not do without, the weightiest first."""
    said: dict[str, None] = {}
    for decision in sorted(trail.decisions, key=lambda d: -(assumptions.price(d) or 0)):
        if not assumptions.sentence(decision, only=False):
            continue
        only = _is_bound_to(decision, fault[1], program)
        other = None
        if not only:
            without = _without(decision, assumptions)
            other = search.cheapest(fault, without, most=budget.MOST_STEPS_FOR_ONE_NEED)
            only = search.exhausted
        if other is not None and _takes_no_more(other, trail, decision, assumptions):
            continue  # with it or without it
        if only or other is not None or assumptions.price(decision):
            # A default that may not matter is not worth a word.
            said[assumptions.sentence(decision, only=only)] = None
    yield from sorted(said, key=lambda sentence: not sentence.startswith(ONLY_WITH))
    rounds = [n for h in trail.happenings for loop, n in h.rounds if n > max(loop.at_least, 1)]
    if rounds:
        yield f"{GOES_ROUND}{'twice' if max(rounds) == 2 else f'{max(rounds)} times'}"


def _is_bound_to(decision: Decision, at: Place, program: Program) -> bool:
    """Does nothing happen at this place unless a condition has this answer?"""
    if decision.kind != "condition":
        return False

    def less(piece: Program) -> Program:
        if isinstance(piece, Branch) and piece.condition == decision.subject:
            return less(piece.orelse if decision.answer else piece.then)
        return mapped(piece, less)

    return all(event.at != at for event in events_in(less(program)))


def _without(decision: Decision, assumptions: Assumptions) -> Callable[[Decision], int | None]:
    """The prices of paths that do not take this for granted."""
    return lambda other: None if other == decision else assumptions.price(other)


def _takes_no_more(other: Trail, trail: Trail, but: Decision, assumptions: Assumptions) -> bool:
    """Is all that the other path takes for granted also so on this one, but for the opposite?"""
    opposite = but._replace(answer=not but.answer)
    return all(
        decision in trail.decisions or decision == opposite
        for decision in other.decisions
        if assumptions.sentence(decision, only=False)
    )


def _quoting(root: Root) -> Callable[[Place], str]:
    """The code at a place, as a quotation."""
    scopes = () if root.machine is None else root.machine.log.scopes.values()
    modules = {scope.module.path: scope.module for scope in scopes}
    if root.module is not None:
        modules[root.module.path] = root.module

    def code(place: Place) -> str:
        module = modules.get(place.path)
        if module is None or place.line > len(module.lines):
            return f"line {place.line} of {place.path.replace(chr(92), '/').rpartition('/')[2]}"
        line = module.lines[place.line - 1].strip().partition("  #")[0].rstrip(" :")
        if len(line) > budget.LONGEST_QUOTE:
            line = f"{line[: budget.LONGEST_QUOTE - 1].rstrip()}…"
        return f"`{line}`"

    return code
