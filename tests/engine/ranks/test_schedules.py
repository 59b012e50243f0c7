"""On two and three ranks, under DDP and FSDP2, the update is that of the one big batch."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.loops import assert_equal, assert_same
from tests.engine.ranks.cases import random_schedules, replicated, sharded
from tests.engine.ranks.launching import run_set
from tests.engine.ranks.schedules import Schedule, reference
from tests.tiers import slow_but
from tests.torch_versions import FSDP2_ON_CPU, NO_FSDP2

Results = list[dict[str, Any]]

SETS: dict[str, dict[str, Schedule]] = {
    "replicas 2": replicated(2),
    "shards 2": sharded(2),
    "random replicas 3": random_schedules(3, shards=False),
    "random shards 3": random_schedules(3, shards=True),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Results]:
    """One launch for each set, when it is first asked for; if it fails, it is not tried again."""

    class Launched(dict[str, Results]):
        def __missing__(self, key: str) -> Results:
            if "shards" in key and not FSDP2_ON_CPU:
                pytest.skip(NO_FSDP2)
            self[key] = []
            name, ranks = key.rsplit(" ", 1)
            self[key] = run_set(name, int(ranks), tmp_path_factory)
            return self[key]

    return Launched()


@pytest.mark.parametrize(
    ("key", "name"),
    # Takes long: three ranks train many random schedules one after another.
    slow_but(
        lambda case: "random" not in case[0],
        [(key, name) for key, found in SETS.items() for name in found],
    ),
)
def test_the_update_is_that_of_the_big_batch(
    key: str, name: str, results: dict[str, Results]
) -> None:
    schedule = SETS[key][name]
    found = [each[name] for each in results[key]]
    assert found, "the launch has failed"
    assert not isinstance(found[0], str), found[0]
    weights, updates, dropped = reference(schedule)
    assert_same(found[0]["weights"], weights)
    for rank, each in enumerate(found):
        assert_equal(each["weights"], found[0]["weights"])
        assert_equal(each["moments"], found[0]["moments"])
        assert str(each["norm"]) == str(found[0]["norm"])  # NaN is not equal to itself
        assert (each["updates"], each["dropped"]) == (updates, dropped)
        assert each["skipped"] == found[0]["skipped"]
        assert each["cells"] == []
        raised = sorted(error.removeprefix("in the ") for error in each["errors"])
        faults = [fault for (r, *_), fault in schedule.faults.items() if r == rank]
        # The rest of a dropped window has no backward that could fail.
        if not dropped:
            assert raised == sorted(fault for fault in faults if fault != "nan")


@pytest.mark.parametrize("key", ["replicas 2", "shards 2"])
def test_a_drop_names_the_rank_and_the_cause_to_the_others(
    key: str, results: dict[str, Results]
) -> None:
    name = "backward fails at 1, continue" if "replicas" in key else "loss fails at 1, drop"
    cause = "Boom: in the backward" if "replicas" in key else "a micro-batch failed there"
    for rank, each in enumerate(results[key]):
        said = each[name]["warnings"]
        if rank == 1:
            assert said == []
        else:
            assert said == [f"a window was dropped on all ranks, because of rank 1: {cause}."]


@pytest.mark.parametrize("key", ["replicas 2", "shards 2"])
def test_a_window_that_is_not_finite_names_the_rank(key: str, results: dict[str, Results]) -> None:
    for each in results[key]:
        assert each["nan"]["skipped"] == 1
        assert "it came from a loss on rank 1" in each["nan"]["last skip"]
        assert "first.weight" in each["nan"]["last skip"]


def test_the_random_schedules_have_faults_of_all_kinds() -> None:
    for shards in (False, True):
        found = random_schedules(3, shards=shards).values()
        kinds = {fault for schedule in found for fault in schedule.faults.values()}
        assert kinds == ({"data", "loss", "nan"} | (set() if shards else {"forward", "backward"}))
        assert sum(bool(schedule.faults) for schedule in found) > 80
        assert sum(len(set(map(len, s.sizes))) > 1 for s in found) > 80
