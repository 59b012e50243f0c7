"""GL204: a part of what a backward computes is thrown away, if it is so whenever it is computed.

Certain means every path, but a clear that finds nothing of a backward says nothing about it: the
loop in between may have had no round, or the other net's turn comes now and then. So GL204 is asked
of deposits, wherever they went: if one clear drops them again and again, and on no path that comes
there did anybody use them, they are computed for nothing. Where an option leaves that backward out,
nobody knows who chooses it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from gradledger.ledger.cells import Cell, Holding
from gradledger.ledger.events import Backward, Clear
from gradledger.ledger.findings import Finding
from gradledger.ledger.page import Page
from gradledger.ledger.places import Place
from gradledger.rules.gl204_gradient_never_used import users
from gradledger.static.certainty.sight import Sight
from gradledger.static.ir.blocks import events_in, pieces
from gradledger.static.ir.program import Loop, Program
from gradledger.static.lower.freezing import may_freeze
from gradledger.static.solve.paths import Facts
from gradledger.static.solve.solver import Solution


def nothing_is_frozen(finding: Finding, sight: Sight) -> bool:
    """What is frozen, in ways that are not followed, may get no gradient."""
    return not may_freeze(sight.root)


def is_always_wasted(finding: Finding, solution: Solution, options: Collection[str]) -> bool:
    """Is there a backward that surely fills one of the cells, each time for nothing?"""
    program = solution.program
    paths: dict[Page, set[Facts]] = {}
    for clear, (page, facts) in solution.met.met_by((finding.rule, finding.at)):
        if isinstance(clear, Clear):
            chosen = frozenset(fact for fact in facts if fact[0] in options)
            paths.setdefault(page, set()).add(chosen)
    return any(
        _surely_reaches(program, site, name)
        and not any(_may_be_used(page, name, site) for page in paths)
        and _whatever_is_chosen(paths, name, site)
        and not _is_left_by_a_loop(finding, solution, name, site)
        for name in sorted(finding.cells)
        for site in _wasted_sites(paths, name)
    )


def _wasted_sites(pages: Iterable[Page], name: str) -> list[Place]:
    """The backwards of which this cell's part is dropped once more."""
    sites = {h.at for page in pages for cell in _cells(page, name) for h in _wasted(page, cell)}
    return sorted(sites, key=lambda site: site.sort_key)


def _wasted(page: Page, cell: Cell) -> Iterator[Holding]:
    """What has been of use to others only, and was dropped before."""
    return (h for h in cell.fresh if h.at in cell.wasted_sites and users(page, h) - cell.owners)


def _may_be_used(page: Page, name: str, site: Place) -> bool:
    """Has somebody used this cell's part of that backward, or will others use none of it?"""
    for cell in _cells(page, name):
        here = [h for h in cell.fresh if h.at == site]
        dropped = site in cell.wasted_sites and any(not users(page, h) - cell.owners for h in here)
        if site in cell.spent_sites or dropped or any(h.excused for h in here):
            return True
    return False


def _whatever_is_chosen(paths: dict[Page, set[Facts]], name: str, site: Place) -> bool:
    """Is it dropped with each answer to each question that a whole run has one answer to?"""
    asked = frozenset().union(*(facts for chosen in paths.values() for facts in chosen))
    with_it: set[tuple[str, bool]] = set()
    for page, chosen in paths.items():
        if any(h.at == site for cell in _cells(page, name) for h in _wasted(page, cell)):
            with_it |= frozenset().union(*chosen)
    return asked <= with_it


def _is_left_by_a_loop(finding: Finding, solution: Solution, name: str, site: Place) -> bool:
    """Is it only here where a loop has had no round, that drops it by a clear of its own?"""
    for loop in pieces(solution.program):
        if not isinstance(loop, Loop) or loop.at_least:
            continue
        inside = list(events_in(loop))
        if any(e.at in (site, finding.at) for e in inside if isinstance(e, Backward | Clear)):
            continue
        for clear in inside:
            if isinstance(clear, Clear) and name in clear.cells:
                met = solution.met.met_by((finding.rule, clear.at))
                if site in _wasted_sites((page for _, (page, _) in met), name):
                    return True
    return False


def _cells(page: Page, name: str) -> Iterator[Cell]:
    return (cell for names, cell in page.groups if name in names)


def _surely_reaches(program: Program, site: Place, name: str) -> bool:
    """Does the backward at this place fill this cell on every path through it?"""
    backwards = (e for e in events_in(program) if isinstance(e, Backward) and e.at == site)
    return all(name in backward.cells for backward in backwards)
