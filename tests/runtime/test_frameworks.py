"""Frameworks that own a part of the cycle: used rightly, silence; misused, the finding.

frameworks/ has programs as their guides show them, misuse/ has what people do instead, with the
line marked. Frameworks warn of much that is no concern here, so warnings are not errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.runtime.nursery import Audited, Nursery, allowed, marked, nursery

pytestmark = pytest.mark.slow  # to load all of them takes many seconds

HERE = Path(__file__).parent
FRAMEWORKS = ("accelerate", "ignite.engine", "lightning", "transformers.trainer")

NOT_YET: dict[str, str] = {}
"""What the auditor cannot tell so far, and why."""


def programs(folder: str) -> list[ParameterSet]:
    return [
        pytest.param(
            program,
            id=program.stem,
            marks=[pytest.mark.xfail(reason=reason)]
            if (reason := NOT_YET.get(program.stem))
            else [],
        )
        for program in sorted(HERE.joinpath(folder).glob("*.py"))
    ]


@pytest.fixture(scope="module")
def auditor() -> Iterator[Nursery]:
    with nursery(*FRAMEWORKS) as opened:
        yield opened


def audit(program: Path, auditor: Nursery) -> Audited:
    audited = auditor.audit(program)
    assert (audited.error, audited.trouble) == ("", "")
    assert audited.tally.backwards > 0
    assert audited.tally.steps > 0
    return audited


@pytest.mark.parametrize("program", programs("frameworks"))
def test_nothing_is_found_in(program: Path, auditor: Nursery) -> None:
    assert marked(program) == frozenset()
    audited = audit(program, auditor)
    assert audited.findings <= allowed(program), audited.words


@pytest.mark.parametrize("program", programs("misuse"))
def test_the_marked_line_and_no_other_is_found_in(program: Path, auditor: Nursery) -> None:
    assert len(marked(program)) == 1
    audited = audit(program, auditor)
    assert audited.findings == marked(program), audited.words
