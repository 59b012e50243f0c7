"""Ranks that die under torchrun: the verdict still comes, once, with what they had found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.command_line import Ended, fresh
from tests.torchrun import FRESH_STORE

PROGRAM = Path(__file__).parent / "programs" / "ranks" / "dies.py"


def torchrun(
    ranks: int, *program: str, at: Path, options: tuple[str, ...] = (), restarts: int = 0
) -> Ended:
    """How it ended, and its words without line breaks."""
    (at / "temporary").mkdir()
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(ranks)]
    launcher += ["--max-restarts", str(restarts)]
    run = ["-m", "gradledger", "run", *options, str(PROGRAM), *program]
    ended = fresh(*launcher, *run, at=at, TMPDIR=str(at / "temporary"), **FRESH_STORE)
    return Ended(ended.status, ended.output, " ".join(ended.errors.split()))


@pytest.mark.parametrize(
    ("way", "who", "ranks", "named"),
    [
        ("killed", 1, 2, "rank 1 died (read up to step "),
        ("killed", 0, 3, "rank 0 died (read up to step "),
        ("raises", 1, 3, "rank 1 died of ValueError: boom"),
        ("raises", 0, 2, "rank 0 died of ValueError: boom"),
        ("leaves", 1, 2, "rank 1 left with status 3"),
        ("lets others wait", 2, 3, "rank 2 died (read up to step "),
    ],
)
def test_who_died_is_named_and_what_it_had_found_is_in_the_one_verdict(
    way: str, who: int, ranks: int, named: str, tmp_path: Path
) -> None:
    ended = torchrun(ranks, way, str(who), at=tmp_path)
    assert ended.status == 1
    assert ended.errors.count("the books do not balance: 1 error.") == 1, ended.errors
    assert "GL101 spent-gradient-reused" in ended.errors
    assert f"cleared never on rank {who} " in ended.errors
    assert named in ended.errors.partition("Not all was audited: ")[2], ended.errors
    assert list((tmp_path / "temporary").glob("gradledger-*")) == []


def test_each_start_of_a_restarted_job_has_its_verdict(tmp_path: Path) -> None:
    ended = torchrun(2, "is killed once", "1", at=tmp_path, restarts=1)
    assert ended.status == 0, ended.errors
    first, second = ended.errors.split("books do not balance: 1 error.")[1:]
    assert "rank 1 died (read up to step " in first
    assert "Not all was audited" not in second
