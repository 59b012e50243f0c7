"""Answers to the questions that branches ask, and which of them cannot be true together.

Conditions are known by their names: `x` asks for its truth, `x is given` whether it is not None,
and `x Eq 'a'` whether it is that. Who knows the value itself knows the answer to all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from gradledger.ledger.tuples import NamedTuple
from gradledger.static.source import syntax as ast

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
