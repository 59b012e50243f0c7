"""Any order of calls on several ranks, resumed from any save, on as many ranks or on others."""

from __future__ import annotations

import pytest

from tests.engine.ranks.cases import elsewhere, walks
from tests.engine.ranks.launching import run_set

pytestmark = pytest.mark.slow  # two launches; two of these are among the stories, too


@pytest.mark.parametrize("which", walks(2))
def test_on_two_ranks_resumed_from_any_save_it_is_the_run_that_was_never_saved(
    which: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for rank, each in enumerate(run_set("walks", 2, tmp_path_factory)):
        assert each[which] is None, f"on rank {rank}: {each[which]}"


@pytest.mark.parametrize("which", elsewhere(3))
def test_on_another_number_of_ranks_the_updates_are_those_of_the_big_batches(
    which: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for rank, each in enumerate(run_set("elsewhere", 3, tmp_path_factory)):
        assert each[which] is None, f"on rank {rank}: {each[which]}"
