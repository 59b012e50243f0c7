"""Ways to have come to one point of a program, and the answers that they remember."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradledger.ledger import Page
from gradledger.ledger.cells import SATURATING
from gradledger.ledger.findings import Breach
from gradledger.static.ir.answers import Answer, exclude
from gradledger.static.ir.program import Tick

Facts = frozenset[Answer]
Path = tuple[Page, Facts]
"""One way to have come here: the page, and how the named conditions on the way were answered."""

Paths = frozenset[Path]

NO_PATHS: Paths = frozenset()
NO_FACTS: Facts = frozenset()

START: Paths = frozenset({(Page(counting=SATURATING), frozenset())})


def ticked(path: Path, tick: Tick) -> Iterator[Path]:
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


def unmarked(paths: Iterable[Path], marks: Facts) -> Paths:
    """The paths without these marks."""
    before = frozenset(paths)
    marked = {facts for _, facts in before if not marks.isdisjoint(facts)}
    if not marked:
        return before
    without = {facts: facts - marks for facts in marked}
    return frozenset((page, without.get(facts, facts)) for page, facts in before)


def knowing(paths: Paths, condition: str, answer: bool) -> Paths:
    """The paths, all of which know this answer to the condition, and no other."""
    known = frozenset({(condition, answer)})
    return frozenset((page, facts | known) for page, facts in forgetting(paths, condition))


def forgetting(paths: Paths, condition: str) -> Paths:
    """The paths, none of which remembers how the condition was answered."""
    answers = frozenset({(condition, True), (condition, False)})
    if all(answers.isdisjoint(facts) for _, facts in paths):
        return paths  # as nearly always: conditions are forgotten that nobody has asked
    return frozenset((page, facts - answers) for page, facts in paths)


def assuming(paths: Paths, condition: str, answer: bool) -> Paths:
    """The paths on which the condition can have this answer, which they remember."""
    known = condition, answer
    # Many paths know the same, and have the same facts among others.
    unasked = {facts for _, facts in paths if known not in facts}
    against = {fact for fact in NO_FACTS.union(*unasked) if exclude(fact, known)}
    after = {facts: facts | {known} if against.isdisjoint(facts) else None for facts in unasked}
    return frozenset(
        (page, knows) for page, facts in paths if (knows := after.get(facts, facts)) is not None
    )


def order(breach: Breach) -> tuple[bool, int, str, str, list[str]]:
    """The same breach comes first in every run, whatever the order of sets."""
    told = breach.detail, repr(breach.evidence), sorted(breach.cells)
    return not breach.sure, len(breach.detail), *told
