"""Tensor parallelism, and shards that are cut or replicated once more, on four ranks."""

from __future__ import annotations

import pytest

from tests.engine.ranks.cases import meshes
from tests.engine.ranks.launching import run_set

pytestmark = pytest.mark.slow  # a launch of four ranks


@pytest.mark.parametrize("story", meshes(4))
def test_over_a_mesh_it_is_so_that(story: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    for rank, each in enumerate(run_set("meshes", 4, tmp_path_factory)):
        assert each[story] is None, f"on rank {rank}: {each[story]}"
