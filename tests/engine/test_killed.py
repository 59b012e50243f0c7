"""Kill -9 at any moment: the resumed run ends bit for bit like the one left in peace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "programs" / "killed.py"
KILLS = 25


@pytest.mark.slow  # takes long: 25 lives, each of which trains a while
@pytest.mark.skipif(not hasattr(os, "fork"), reason="lives are forks")
@pytest.mark.parametrize("seed", [0, 1])
def test_a_run_killed_25_times_at_random_moments_ends_as_if_it_had_not_been(
    tmp_path: Path, seed: int
) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAM), str(tmp_path), str(KILLS), str(seed)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["statuses"] == [0, 0], ran.stderr
    assert not told["finished early"], "make the run longer"
    killed = [death for death in told["deaths"] if not death.startswith("ended")]
    assert len(killed) == KILLS, told["deaths"]
    assert {"start", "b", "s"} == set(killed), "spread the moments wider"
    assert told["differences"] == []
    assert told["left over"] == ["checkpoint", "final"]
