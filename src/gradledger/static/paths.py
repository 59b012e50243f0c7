"""Ways to have come to one point of a program, and what they remember.

What they remember is the answers to questions, some of which cannot be true together.
Conditions are known by their names: `x` asks for its truth, `x is given` whether it is not None,
and `x Eq 'a'` whether it is that. Who knows the value itself knows the answer to all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from gradledger.ledger import Page
from gradledger.ledger.cells import SATURATING
from gradledger.ledger.tuples import NamedTuple
from gradledger.static import syntax as ast
from gradledger.static.program import Tick

Answer = tuple[str, bool]
"""A condition by its name, and whether it is true."""

_IS_GIVEN = " is given"
_EQUALS = " Eq "


def is_given(name: str) -> str:
    """The condition that this is not None."""
    return f"{name}{_IS_GIVEN}"


@lru_cache(maxsize=8192)
def exclude(one: Answer, other: Answer) -> bool:
    """Is there no value of which both can be true?"""
    if one[0] == other[0]:
        return one[1] is not other[1]
    a, b = _asked(one[0]), _asked(other[0])
    return a.subject == b.subject and (
        (a.told_by is one[1] and b.is_true_of(a.value) is not other[1])
        or (b.told_by is other[1] and a.is_true_of(b.value) is not one[1])
    )


class _Question(NamedTuple):
    """What a condition asks."""

    subject: str
    is_true_of: Callable[[object], bool]
    told_by: bool | None = None
    """The answer that leaves no value but one; None where neither does."""
    value: object = None
    """That one."""


@lru_cache(maxsize=4096)
def _asked(condition: str) -> _Question:
    if condition.endswith(_IS_GIVEN):
        return _Question(condition.removesuffix(_IS_GIVEN), lambda value: value is not None, False)
    subject, equals, spelled = condition.rpartition(_EQUALS)
    if equals:
        try:
            known = ast.literal_eval(spelled)
        except (ValueError, SyntaxError):
            return _Question(condition, bool)
        return _Question(subject, lambda value: bool(value == known), True, known)
    return _Question(condition, bool)


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
    return frozenset((page, facts - marks) for page, facts in paths)


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
    return frozenset(
        (page, facts | {known})
        for page, facts in paths
        if known in facts or not any(exclude(fact, known) for fact in facts)
    )
