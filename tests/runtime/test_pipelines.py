"""`torch.distributed.pipelining`: its schedules make the passes, and the loop does the rest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.once import once
from tests.runtime.pipelined import loop
from tests.runtime.pipelined.cases import CASES, NOT_YET, RIGHT, WRONG
from tests.torchrun import torchrun

ROOT = Path(__file__).parents[2]
Told = list[dict[str, Any]]
"""What each rank has to say to each case."""

pytestmark = pytest.mark.slow  # the first takes long: one launch runs all schedules


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    with once("pipelined", tmp_path_factory) as (folder, first):
        if first:
            done = torchrun(2, "tests.runtime.pipelined.program", str(folder), at=ROOT, seconds=600)
            assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-6000:]
        return [json.loads((folder / f"rank{rank}").read_text()) for rank in (0, 1)]


def line(comment: str) -> int:
    (number,) = [
        number
        for number, text in enumerate(Path(loop.__file__).read_text().splitlines(), start=1)
        if text.endswith(f"  # {comment}")
    ]
    return number


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_right_has_no_finding_and_all_is_spent(case: str, told: Told) -> None:
    for rank in told:
        one = rank[case]
        assert one["same"], "the audit changed the parameters"
        assert one["findings"] == [], one["details"]
        assert one["tally"]["backwards"] == one["passes"]
        assert one["tally"]["spent"] == 2 * one["passes"], "a weight and a bias for each"
        assert one["tally"]["respent"] == 0
        # What the first rank sends on has no loss to tell its weight or its batch by.
        assert all("batch" in phrase for phrase in one["unseen"])


@pytest.mark.parametrize("case", WRONG)
def test_a_fault_is_found_at_its_line_and_alone(case: str, told: Told) -> None:
    if reason := NOT_YET.get(CASES[case][1][0]):
        pytest.xfail(reason)
    rule, where = loop.FAULTS[CASES[case][1][0]]
    found = [finding for rank in told for finding in rank[case]["findings"]]
    assert set(found) == {f"{rule} loop.py:{line(where)}"}, [rank[case]["details"] for rank in told]
