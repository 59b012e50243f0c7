"""DeepSpeed itself, in all stages of ZeRO, on two ranks; in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.once import once
from tests.runtime.with_deepspeed.cases import CASES, FAULTS, RIGHT, WRONG

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("DEEPSPEED_PYTHON", ROOT / ".venv-deepspeed" / "bin" / "python"))
LOOP = Path(__file__).parent / "with_deepspeed" / "loop.py"
Told = list[dict[str, Any]]
"""What each rank has to say to each case."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="DeepSpeed is not there: make deepspeed"),
]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    with once("deepspeed", tmp_path_factory) as (folder, first):
        if first:
            words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
            words += ["-m", "tests.runtime.with_deepspeed.program", str(folder)]
            done = subprocess.run(
                [str(PYTHON), *words],
                cwd=ROOT,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                capture_output=True,
                text=True,
                check=False,
                timeout=600,
            )
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
        return [json.loads((folder / f"rank{rank}").read_text()) for rank in (0, 1)]


def line(comment: str) -> int:
    (number,) = [
        number
        for number, text in enumerate(LOOP.read_text().splitlines(), start=1)
        if text.endswith(f"  # {comment}")
    ]
    return number


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_right_has_no_finding_and_all_is_spent(case: str, told: Told) -> None:
    for rank in told:
        one = rank[case]
        tally = one["tally"]
        assert one["same"], "the audit changed the parameters"
        assert one["findings"] == [], one["details"]
        assert one["unseen"] == []
        assert tally["backwards"] == one["passes"]
        assert tally["entries"] == tally["spent"] == one["passes"] * one["parameters"]
        assert tally["lost"] == tally["wasted"] == tally["respent"] == 0


@pytest.mark.parametrize("case", WRONG)
def test_a_fault_is_found_at_its_line_and_alone(case: str, told: Told) -> None:
    rule, where = FAULTS[CASES[case][1][0]]
    for rank in told:
        assert rank[case]["same"], "the audit changed the parameters"
        assert rank[case]["findings"] == [f"{rule} loop.py:{line(where)}"], rank[case]["details"]
