"""DeepSpeed itself, in all stages of ZeRO, on two ranks; in an environment of its own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.once import once
from tests.runtime.with_deepspeed.cases import CASES, FAULTS, RIGHT, WRONG, result_file
from tests.torchrun import FRESH_STORE

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("DEEPSPEED_PYTHON", ROOT / ".venv-deepspeed" / "bin" / "python"))
LOOP = Path(__file__).parent / "with_deepspeed" / "loop.py"
Told = list[dict[str, Any]]
"""What each rank has to say to each case."""

pytestmark = [
    pytest.mark.slow,  # the first takes long: one launch trains every case
    pytest.mark.skipif(not PYTHON.exists(), reason="DeepSpeed is not there: make deepspeed"),
]


LAUNCHES = 3
"""So many times in all, where a rank is killed by a signal on the way."""


def launch(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """These cases on two ranks, each a new process."""
    command = [str(PYTHON), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    return subprocess.run(
        [*command, "-m", "tests.runtime.with_deepspeed.program", str(folder), *words],
        cwd=ROOT,
        env={**os.environ, **FRESH_STORE, "OMP_NUM_THREADS": "1", "PYTHONFAULTHANDLER": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def missing(folder: Path) -> list[str]:
    """The cases that not both ranks are through with."""
    return [
        case
        for case in CASES
        if not all(result_file(folder, case, rank).exists() for rank in (0, 1))
    ]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """What both ranks have to say to all cases, from one launch where nothing dies.

    A rank of DeepSpeed was once seen to abort in native code (SIGABRT, no Python frame), and never
    again in dozens of launches. So a launch goes on where the last one died. A case that dies
    twice is run without an audit: where it dies then, too, DeepSpeed doesn't run here.
    """
    with once("deepspeed", tmp_path_factory) as (folder, _):
        for again in range(LAUNCHES):
            left = missing(folder)
            if not left:
                break
            done = launch(folder, *left)
            trouble = done.stdout[-3000:] + done.stderr[:6000] + done.stderr[-3000:]
            killed = "traceback : Signal" in done.stderr
            assert done.returncode == 0 or killed, trouble
            stuck = again > 0 and left[0] in missing(folder)
            if stuck and launch(folder, "--plain", left[0]).returncode != 0:
                pytest.skip(f"DeepSpeed dies here without an audit, too ({left[0]})")
            assert not stuck, trouble
        assert not missing(folder)
        return [
            {case: json.loads(result_file(folder, case, rank).read_text()) for case in CASES}
            for rank in (0, 1)
        ]


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
