"""Models that are spread over ranks: every deposit, clip and clear is seen where it really is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.once import once
from tests.runtime.sharded import loop
from tests.runtime.sharded.cases import CASES, COUNTED, RIGHT, WRONG
from tests.torchrun import torchrun

ROOT = Path(__file__).parents[2]
QUICK = "fully_shard, plain", "fully_shard, clip", "fully_shard, sync in each micro-batch"
"""Those that are looked at in each run of the tests."""

Told = list[dict[str, Any]]
"""What each rank has to say to each case."""


def launched(factory: pytest.TempPathFactory, name: str, *cases: str) -> Told:
    with once(name, factory) as (folder, first):
        if first:
            program = "tests.runtime.sharded.program", str(folder), *cases
            done = torchrun(2, *program, at=ROOT, seconds=600)
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
        return [json.loads((folder / f"rank{rank}").read_text()) for rank in (0, 1)]


# Takes long: one launch trains every case, with an audit and without.
@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return launched(tmp_path_factory, "sharded")


def line(comment: str) -> int:
    (number,) = [
        number
        for number, text in enumerate(Path(loop.__file__).read_text().splitlines(), start=1)
        if text.endswith(f"  # {comment}")
    ]
    return number


def expected(case: str) -> list[str]:
    faults = [loop.FAULTS[each] for each in CASES[case][1] if each in loop.FAULTS]
    return [f"{rule} loop.py:{line(where)}" for rule, where in faults]


def holds(case: str, rank: dict[str, Any]) -> None:
    """Its findings are the fault's alone, and each parameter has a deposit of each pass."""
    one = rank[case]
    tally = one["tally"]
    assert one["same"], "the audit changed the parameters"
    assert one["findings"] == expected(case), one["details"]
    assert one["unseen"] == []
    assert tally["backwards"] == one["passes"]
    assert tally["entries"] == one["passes"] * one["parameters"]
    if "left over" not in case:  # that may die with its model
        assert tally["lost"] == tally["wasted"] == 0


def is_spent(case: str, rank: dict[str, Any]) -> None:
    tally = rank[case]["tally"]
    assert tally["spent"] == tally["entries"]
    assert tally["respent"] == 0


def test_fsdp2_is_seen_as_it_is(tmp_path_factory: pytest.TempPathFactory) -> None:
    for rank in launched(tmp_path_factory, "sharded quickly", *QUICK):
        for case in QUICK:
            holds(case, rank)
            is_spent(case, rank)


@pytest.mark.slow
@pytest.mark.parametrize("case", RIGHT)
def test_what_is_right_has_no_finding_and_all_is_spent(case: str, told: Told) -> None:
    for rank in told:
        holds(case, rank)
        is_spent(case, rank)


@pytest.mark.slow
@pytest.mark.parametrize("case", WRONG)
def test_a_fault_is_found_at_its_line_and_alone(case: str, told: Told) -> None:
    for rank in told:
        holds(case, rank)


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case, (_, how) in CASES.items() if how in COUNTED])
def test_an_audit_has_the_ranks_exchange_nothing(case: str, told: Told) -> None:
    for rank in told:
        plainly, audited = rank[case]["exchanged"]
        assert plainly
        assert audited == plainly


@pytest.mark.slow
@pytest.mark.parametrize("wrapper", [case.partition(",")[0] for case in WRONG if "at all" in case])
def test_what_was_never_reduced_is_not_spent_by_fsdp2(wrapper: str, told: Told) -> None:
    # ZeroRedundancyOptimizer shards the optimizer of a model that DDP keeps whole.
    whole = wrapper in ("DDP", "ZeroRedundancyOptimizer")
    for rank in told:
        tally = rank[f"{wrapper}, no sync at all"]["tally"]
        assert tally["spent"] == (tally["entries"] if whole else 0)
