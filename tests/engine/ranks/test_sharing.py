"""A window that was saved half full goes on, on as many ranks or on others."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.optim import AdamW

from tests.engine.loops import assert_equal, assert_same, big_batches, net, windows
from tests.engine.ranks.launching import launch
from tests.engine.ranks.sharing import ACCUMULATE, RANKS, SAVED, data, left
from tests.once import once

pytestmark = pytest.mark.slow  # four launches, of up to four ranks, before the first


@pytest.fixture(scope="module", params=["replicas", "shards"])
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Saved on three ranks, and resumed on three, two and four: what each has in the end."""
    launches = (("whole", RANKS), ("resumed", RANKS), ("resumed", 2), ("resumed", 4))
    with once(f"sharing {request.param}", tmp_path_factory) as (folder, first):
        if first:
            for _, ranks in launches:
                launch(ranks, "tests.engine.ranks.sharing", str(folder), request.param)
    return {
        (name, ranks): [torch.load(folder / f"{name} {ranks}.{rank}") for rank in range(ranks)]
        for name, ranks in launches
    }


def test_on_as_many_ranks_it_ends_bit_for_bit_like_the_run_that_saved(runs: Any) -> None:
    assert_equal(runs["resumed", RANKS], runs["whole", RANKS])
    assert runs["whole", RANKS][0]["updates"] == 3


def test_the_run_that_saved_makes_the_updates_of_the_big_batches(runs: Any) -> None:
    each = [windows(data(rank), ACCUMULATE) for rank in range(RANKS)]
    model = net()
    together = [[batch for mine in each for batch in mine[i]] for i in range(3)]
    big_batches(model, AdamW(model.parameters(), 0.01, eps=1e-3), together, clip_norm=0.5)
    for found in runs["whole", RANKS]:
        assert_same(found["weights"], list(model.parameters()))


@pytest.mark.parametrize("ranks", [2, 4])
def test_on_another_number_of_ranks_the_window_goes_on_with_what_is_left(
    ranks: int, runs: Any
) -> None:
    first = [batch for rank in range(RANKS) for batch in data(rank)[:ACCUMULATE]]
    begun = [batch for rank in range(RANKS) for batch in data(rank)[ACCUMULATE:SAVED]]
    missing, rest = 2 * ACCUMULATE - SAVED, left(ranks)
    second = begun + [batch for mine in rest for batch in mine[:missing]]
    third = [batch for mine in rest for batch in mine[missing:]]
    model = net()
    optimizer = AdamW(model.parameters(), 0.01, eps=1e-3)
    big_batches(model, optimizer, [first, second, third], clip_norm=0.5)
    for found in runs["resumed", ranks]:
        assert_same(found["weights"], list(model.parameters()))
        assert found["updates"] == 3
        assert_equal(found["weights"], runs["resumed", ranks][0]["weights"])
