"""A rank that fails for good: all are told, in a bounded time; a killed one is started again."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.engine.ranks.launching import launch
from tests.torch_versions import NEEDS_FSDP2_ON_CPU


@NEEDS_FSDP2_ON_CPU
@pytest.mark.parametrize(
    ("where", "cause"),
    [
        pytest.param(
            "forward", "rank 1 in the forward: Boom: in the forward", marks=pytest.mark.slow
        ),
        ("backward", "rank 1 in the backward: Boom: in the backward"),
        pytest.param(
            "data",
            "rank 1 without data: there was no micro-batch yet that it could repeat",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_all_ranks_of_a_sharded_model_raise_with_the_rank_and_the_cause(
    where: str, cause: str, tmp_path: Path
) -> None:
    launch(2, "tests.engine.ranks.failing", str(tmp_path), where, seconds=120)
    for rank in range(2):
        last = (tmp_path / f"rank{rank}").read_text().splitlines()[-1]
        assert last.startswith(f"RankFailure: {cause}"), (rank, last)


@pytest.mark.slow
def test_killed_in_a_window_it_ends_bit_for_bit_like_the_undisturbed_run(tmp_path: Path) -> None:
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    for folder, at in ((calm, -1), (killed, 1005)):
        folder.mkdir()
        launch(2, "tests.engine.ranks.killed", str(folder), str(at), restarts=1, seconds=300)
    for rank in range(2):
        assert (calm / f"starts.{rank}").read_text() == "0"
        assert (killed / f"starts.{rank}").read_text() == "1"
        expected = torch.load(calm / f"final.{rank}")
        found = torch.load(killed / f"final.{rank}")
        assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))
