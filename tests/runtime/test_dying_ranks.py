"""Ranks that die under torchrun: the verdict still comes, once, with what they had found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.command_line import Ended
from tests.tiers import slow_but
from tests.torchrun import torchrun

PROGRAM = Path(__file__).parent / "programs" / "ranks" / "dies.py"


def audited(
    ranks: int, way: str, who: int, *, at: Path, restarts: int = 0, real: bool = False
) -> Ended:
    """How it ended, and its words without line breaks."""
    (at / "temporary").mkdir()
    run = ("gradledger", "run", str(PROGRAM), way, str(who))
    there = str(at / "temporary")
    done = torchrun(ranks, *run, at=at, restarts=restarts, real=real, TMPDIR=there)
    return Ended(done.returncode, done.stdout, " ".join(done.stderr.split()))


@pytest.mark.parametrize(
    ("way", "who", "ranks", "named", "real"),
    # Takes long where torchrun and each rank are real processes, which load torch.
    slow_but(
        lambda case: case[0] == "leaves",
        [
            ("killed", 1, 2, "rank 1 died (read up to step ", True),
            ("killed", 0, 3, "rank 0 died (read up to step ", False),
            ("raises", 1, 3, "rank 1 died of ValueError: boom", False),
            ("raises", 0, 2, "rank 0 died of ValueError: boom", False),
            ("leaves", 1, 2, "rank 1 left with status 3", False),
            ("lets others wait", 2, 3, "rank 2 died (read up to step ", False),
        ],
    ),
)
def test_who_died_is_named_and_what_it_had_found_is_in_the_one_verdict(
    way: str, who: int, ranks: int, named: str, real: bool, tmp_path: Path
) -> None:
    ended = audited(ranks, way, who, at=tmp_path, real=real)
    assert ended.status == 1
    assert ended.errors.count("the books do not balance: 1 error.") == 1, ended.errors
    assert "GL101 spent-gradient-reused" in ended.errors
    assert f"cleared never on rank {who} " in ended.errors
    assert named in ended.errors.partition("Not all was audited: ")[2], ended.errors
    assert list((tmp_path / "temporary").glob("gradledger-*")) == []


@pytest.mark.slow
def test_each_start_of_a_restarted_job_has_its_verdict(tmp_path: Path) -> None:
    ended = audited(2, "is killed once", 1, at=tmp_path, restarts=1)
    assert ended.status == 0, ended.errors
    first, second = ended.errors.split("books do not balance: 1 error.")[1:]
    assert "rank 1 died (read up to step " in first
    assert "Not all was audited" not in second
