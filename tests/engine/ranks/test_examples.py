"""The examples for many ranks, on many ranks: they keep their word, and their books balance."""

from __future__ import annotations

import pytest

from tests.engine.ranks.launching import launch
from tests.torch_versions import NEEDS_FSDP2_ON_CPU


# Takes long: torchrun and each rank are, for DDP, real processes, and load torch.
@pytest.mark.parametrize(
    ("program", "real"),
    # Takes long: each rank trains the example, the first in real processes, which load torch.
    [
        pytest.param("ddp.py", True, marks=pytest.mark.slow),
        pytest.param("pretraining.py", False, marks=pytest.mark.slow),
        pytest.param("fsdp.py", False, marks=NEEDS_FSDP2_ON_CPU),
    ],
)
def test_the_auditor_finds_nothing_on_two_ranks(program: str, real: bool) -> None:
    run = ("gradledger", "run", "--fail-on", "warning", f"examples/{program}")
    said = launch(2, *run, real=real)
    assert "on 2 ranks" in said
    assert "largest difference from training with big batches" in said
