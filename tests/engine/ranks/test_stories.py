"""What a Stepper promises within one process, it keeps on many ranks."""

from __future__ import annotations

from typing import Any

import pytest
from _pytest.mark import ParameterSet

from tests.engine.ranks.cases import stories, two_nets
from tests.engine.ranks.launching import run_set
from tests.engine.ranks.stories import SHARDS
from tests.torch_versions import NEEDS_FSDP2_ON_CPU

SHARDED = {story.__name__ for story in SHARDS}


# The first takes long: each launch goes through all stories, for all who ask.
@pytest.fixture(scope="module", params=[2, pytest.param(3, marks=pytest.mark.slow)])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_set("stories", request.param, tmp_path_factory)


def _marked(story: str) -> ParameterSet:
    on_shards = "(fsdp)" in story or "(tensor parallel)" in story or story in SHARDED
    return pytest.param(story, marks=[NEEDS_FSDP2_ON_CPU] if on_shards else [])


@pytest.mark.parametrize("story", [_marked(story) for story in stories(2)])
def test_it_is_so_that(story: str, told: list[dict[str, Any]]) -> None:
    for rank, each in enumerate(told):
        assert each[story] is None, f"on rank {rank}: {each[story]}"


@pytest.fixture(scope="module", params=[2, pytest.param(3, marks=pytest.mark.slow)])
def told_of_two(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run_set("two nets", request.param, tmp_path_factory)


@pytest.mark.parametrize("story", two_nets(2))
def test_two_nets_stay_exact_or_all_are_told(story: str, told_of_two: list[dict[str, Any]]) -> None:
    for rank, each in enumerate(told_of_two):
        assert each[story] is None, f"on rank {rank}: {each[story]}"
