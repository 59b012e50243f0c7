"""Ranks of one launch: what each leaves, and the one verdict that rank 0 makes of it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from threading import Timer

import pytest

from gradledger.ledger import Evidence, Finding, Place, Tally
from gradledger.ledger.unseen import Unseen
from gradledger.ledger.verdict import Verdict
from gradledger.rules import ranks  # by its name `Testimony` would pass for a test
from gradledger.rules.ranks import merged
from gradledger.runtime.processes.rank_verdict import Ranks

STEP, BACKWARD = Place("train.py", 9, 4), Place("train.py", 7, 4)
REUSED = Finding(
    "GL101",
    STEP,
    "spends 2 deposits",
    "observed",
    (Evidence("deposited", BACKWARD), Evidence("cleared", None, "never")),
    frozenset({"model.weight"}),
    3,
)
LEFT_OVER = Finding("GL203", BACKWARD, "1 deposit is left over", "observed")
SAME = {"model.weight": 11, "model.bias": 12}
OTHER = {"model.weight": 11, "model.bias": 13}


def said(*findings: Finding, prints: list[dict[str, int]] | None = None) -> ranks.Testimony:
    """What a rank has to say that found these, and whose replicas looked like this."""
    verdict = Verdict("train.py", findings, Tally(steps=2), sources={"train.py": "import torch\n"})
    return ranks.Testimony(verdict, [(STEP, n, p) for n, p in enumerate(prints or [], start=1)])


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def left(tmp_path: Path) -> list[str]:
    return [path.name for path in tmp_path.rglob("*")]


# Meeting in a folder -------------------------------------------------------------------------


def test_what_a_rank_leaves_arrives_whole_and_nothing_stays_behind(tmp_path: Path) -> None:
    first, second = Ranks(0, 2, "launch"), Ranks(1, 2, "launch")
    first.arrive()
    second.arrive()
    second.leave(said(REUSED, LEFT_OVER, prints=[SAME]))
    (heard,) = first.gather().items()
    assert heard == (1, said(REUSED, LEFT_OVER, prints=[SAME]))
    assert left(tmp_path) == []


def test_what_a_rank_did_not_see_arrives_too() -> None:
    first, second = Ranks(0, 2, "launch"), Ranks(1, 2, "launch")
    first.arrive()
    second.arrive()
    unseen = Unseen("weights", "compiled", 3), Unseen("deposits", "", 2, ("w", "b"))
    told = said()._replace(verdict=said().verdict._replace(unseen=unseen))
    second.leave(told)
    assert first.gather() == {1: told}


def test_a_rank_that_died_is_not_waited_for(tmp_path: Path) -> None:
    first, second = Ranks(0, 2, "launch"), Ranks(1, 2, "launch")
    first.arrive()
    second.arrive()
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    (pid,) = tmp_path.glob("*/1.pid")
    pid.write_text(str(gone.pid))
    assert first.gather(patience=600) == {}
    assert merged(said(), {}, 2).trouble == "nothing was heard from rank 1"


def test_a_rank_on_another_machine_is_not_waited_for() -> None:
    first = Ranks(0, 2, "launch")
    first.arrive()
    assert first.gather(patience=600) == {}


def test_a_rank_that_says_nothing_is_not_waited_for_for_ever() -> None:
    first = Ranks(0, 2, "launch")
    first.arrive()
    Ranks(1, 2, "launch").arrive()  # it lives: it is this process
    assert first.gather(patience=0) == {}


def test_what_an_earlier_launch_left_behind_is_not_heard() -> None:
    killed = Ranks(1, 2, "launch")
    killed.arrive()
    killed.leave(said(REUSED))
    first, second = Ranks(0, 2, "launch"), Ranks(1, 2, "launch")
    first.arrive()
    second.arrive()
    assert first.gather(patience=0) == {}


def test_launches_do_not_hear_each_other() -> None:
    Ranks(1, 2, "another").arrive()
    Ranks(1, 2, "another").leave(said(REUSED))
    first = Ranks(0, 2, "launch")
    first.arrive()
    assert first.gather(patience=0) == {}


def gone(tmp_path: Path, rank: int) -> None:
    """The process of this rank has ended, and nobody has asked yet how."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    _ZOMBIES.append(process)
    (pid,) = tmp_path.glob(f"*/{rank}.pid")
    pid.write_text(str(process.pid))


_ZOMBIES: list[subprocess.Popen[bytes]] = []


@pytest.fixture(autouse=True)
def _buried() -> Iterator[None]:
    yield
    while _ZOMBIES:
        with _ZOMBIES.pop():
            pass


def test_what_a_rank_noted_is_heard_when_it_has_died(tmp_path: Path) -> None:
    first, second = Ranks(0, 2, "launch"), Ranks(1, 2, "launch")
    first.arrive()
    second.arrive()
    second.note(said(REUSED, prints=[SAME]))
    gone(tmp_path, 1)
    expected = said(REUSED, prints=[SAME])._replace(end="died", whole=False)
    assert first.gather(patience=600) == {1: expected}
    assert left(tmp_path) == []


def test_what_a_rank_noted_is_heard_when_it_does_not_end() -> None:
    first, second = Ranks(0, 2, "launch"), Ranks(1, 2, "launch")
    first.arrive()
    second.arrive()
    second.note(said(REUSED))
    assert first.gather(patience=0)[1].end == "had not ended"


def test_what_a_rank_leaves_counts_more_than_what_it_noted() -> None:
    first, second = Ranks(0, 2, "launch"), Ranks(1, 2, "launch")
    first.arrive()
    second.arrive()
    second.note(said(REUSED))
    second.leave(said(REUSED, LEFT_OVER))
    assert first.gather() == {1: said(REUSED, LEFT_OVER)}


def test_the_first_rank_that_lives_speaks(tmp_path: Path) -> None:
    ranks = [Ranks(rank, 3, "launch") for rank in range(3)]
    for rank in ranks:
        rank.arrive()
    assert [rank.speaks() for rank in ranks] == [True, False, False]
    gone(tmp_path, 0)
    assert [rank.speaks() for rank in ranks[1:]] == [True, False]
    gone(tmp_path, 1)
    assert ranks[2].speaks()


def test_a_rank_speaks_when_the_one_before_it_ends_a_moment_later(tmp_path: Path) -> None:
    first, second = Ranks(0, 2, "launch"), Ranks(1, 2, "launch")
    first.arrive()
    second.arrive()
    ending = Timer(0.2, gone, (tmp_path, 0))
    ending.start()
    assert not second.speaks()
    assert second.speaks(patience=600)
    ending.join()


def test_a_rank_waits_no_longer_when_the_verdict_is_out() -> None:
    first, second = Ranks(0, 2, "launch"), Ranks(1, 2, "launch")
    first.arrive()
    second.arrive()
    speaking = Timer(0.2, first.gather, (0,))
    speaking.start()
    assert not second.speaks(patience=600)
    speaking.join()


def test_nobody_speaks_when_the_verdict_is_out_or_is_another_machines() -> None:
    first, second = Ranks(0, 2, "launch"), Ranks(1, 2, "launch")
    second.arrive()
    assert not second.speaks()
    first.arrive()
    first.gather(patience=0)
    assert not second.speaks()
    second.leave(said())  # too late, and no mistake


@pytest.mark.parametrize("kind", ["writable by all", "a link", "a file"])
def test_a_foreign_folder_is_not_used(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / f"gradledger-{os.getuid()}-launch"
    if kind == "writable by all":
        folder.mkdir()
        folder.chmod(0o777)
    elif kind == "a link":
        (tmp_path / "elsewhere").mkdir()
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.write_text("")
    with pytest.raises(OSError, match="gradledger"):
        Ranks(0, 2, "launch").arrive()


# Who is in a launch --------------------------------------------------------------------------

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"RANK": "0"},
        TORCHRUN | {"WORLD_SIZE": "1"},
        TORCHRUN | {"RANK": "first"},
        {key: value for key, value in TORCHRUN.items() if key != "MASTER_PORT"},
    ],
)
def test_a_process_alone_is_no_launch(
    told: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in TORCHRUN:
        monkeypatch.delenv(name, raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    assert Ranks.of_this_launch() is None


def test_ranks_of_one_launch_meet_and_a_restart_is_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in TORCHRUN.items():
        monkeypatch.setenv(name, value)
    for rank, restart in (("0", "0"), ("1", "0"), ("1", "1")):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", restart)
        found = Ranks.of_this_launch()
        assert found is not None
        assert (found.rank, found.world) == (int(rank), 2)
        found.arrive()
    assert sorted(map(len, map(list, (folder.iterdir() for folder in tmp_path.iterdir())))) == [
        1,
        2,
    ]


def test_torch_is_not_needed() -> None:
    module = "gradledger.runtime.processes.rank_verdict"
    code = f"import sys; import {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
