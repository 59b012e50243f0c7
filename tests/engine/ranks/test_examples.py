"""The examples for many ranks, on many ranks: they keep their word, and their books balance."""

from __future__ import annotations

import pytest

from tests.engine.ranks.launching import launch


@pytest.mark.parametrize("program", ["ddp.py", "fsdp.py"])
def test_the_auditor_finds_nothing_on_two_ranks(program: str) -> None:
    said = launch(2, "gradledger", "run", "--fail-on", "warning", f"examples/{program}")
    assert "on 2 ranks" in said
    assert "largest difference from training with big batches" in said
