"""Which cases of a large family run in `make test`; `make test-slow` runs the others.

tests/README.md says what belongs where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

from gradledger.rules import Rule

Case = TypeVar("Case")


def slow_but(quick: Callable[[Case], bool], cases: Iterable[Case]) -> list[ParameterSet]:
    """All cases, of which those that are not quick are slow. One of several values is a tuple."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=[] if quick(case) else [pytest.mark.slow],
        )
        for case in cases
    ]


def slow_but_some(every: int, cases: Iterable[Case]) -> list[ParameterSet]:
    """One case in so many is quick, the first among them."""
    number = iter(range(10**6))
    return slow_but(lambda _: next(number) % every == 0, cases)


def slow_but_one_per_law(rules: Iterable[Rule]) -> list[ParameterSet]:
    """Of the rules of each law, the first is quick."""
    return slow_but_the_first(lambda rule: rule.code[:3], rules)


def slow_but_the_first(of: Callable[[Case], object], cases: Iterable[Case]) -> list[ParameterSet]:
    """Of the cases that have the same in common, the first is quick."""
    seen: set[object] = set()

    def is_first(case: Case) -> bool:
        before = len(seen)
        seen.add(of(case))
        return len(seen) > before

    return slow_but(is_first, cases)
