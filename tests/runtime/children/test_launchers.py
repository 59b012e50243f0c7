"""Launchers behind `gradledger run`, and ranks on machines that share no folder."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.command_line import PATIENCE

pytestmark = pytest.mark.slow

PROGRAM = Path(__file__).parents[1] / "programs" / "children" / "launched.py"
TORCHRUN = ("torchrun", "--nproc_per_node", "2", "--standalone")
RUN = ("-m", "gradledger", "run")


def started(*words: str, at: Path, name: str = "temporary") -> subprocess.Popen[str]:
    """Python with these words, and a folder of its own for temporary files."""
    temporary = at / name
    temporary.mkdir()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TMPDIR": str(temporary)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, *words], cwd=at, env=environment, text=True, **pipes)  # type: ignore[call-overload, no-any-return]


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Its status, and what it said on stderr, without line breaks."""
    with process:
        _, errors = process.communicate(timeout=PATIENCE)
        return process.returncode, " ".join(errors.split())


def told_as_ranks(errors: str, passes: int = 5) -> None:
    """One verdict of two ranks, and the fault of one of them."""
    assert errors.count("GL101 spent-gradient-reused") == 1, errors
    assert "cleared never on rank 1 " in errors, errors
    assert errors.count("The books do not balance: 1 error.") == 1, errors
    assert f"{passes} backward passes, {passes} steps, 2 parameters, 2 ranks." in errors, errors


@pytest.mark.parametrize(
    "words",
    [
        (*RUN, "--fail-on", "error", *TORCHRUN, str(PROGRAM)),
        (*RUN, "--fail-on", "error", "-m", "torch.distributed.run", *TORCHRUN[1:], str(PROGRAM)),
    ],
    ids=["torchrun", "module"],
)
def test_a_launcher_may_stand_behind_gradledger(words: tuple[str, ...], tmp_path: Path) -> None:
    status, errors = ended(started(*words, at=tmp_path))
    assert status == 1
    told_as_ranks(errors)
    assert list((tmp_path / "temporary").glob("gradledger-*")) == []


def test_what_is_audited_by_a_run_of_its_own_is_not_audited_twice(tmp_path: Path) -> None:
    words = (*RUN, *TORCHRUN, "-m", "gradledger", "run", str(PROGRAM))
    status, errors = ended(started(*words, at=tmp_path))
    assert status == 0
    told_as_ranks(errors)
    assert "Processes with a `gradledger run` of their own: " in errors


def test_a_trainer_that_starts_the_other_ranks_is_the_first_of_them(tmp_path: Path) -> None:
    program = PROGRAM.with_name("fabric.py")
    status, errors = ended(started(*RUN, str(program), at=tmp_path))
    assert status == 0
    told_as_ranks(errors, passes=4)


def test_accelerate_launch_is_audited(tmp_path: Path) -> None:
    words = ("accelerate", "launch", "--cpu", "--num_processes", "1", "--num_machines", "1")
    rest = ("--mixed_precision", "no", "--dynamo_backend", "no", str(PROGRAM))
    status, errors = ended(started(*RUN, *words, *rest, at=tmp_path))
    assert status == 0
    assert "5 backward passes, 5 steps, 2 parameters." in errors, errors
    assert "The books balance" in errors, errors


@pytest.mark.parametrize("behind", [True, False], ids=["behind", "in front"])
def test_machines_that_share_no_folder_have_one_verdict(behind: bool, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    agents = []
    for machine in range(2):
        words = ["--nnodes", "2", "--node_rank", str(machine), "--nproc_per_node", "1"]
        words += ["--master_addr", "127.0.0.1", "--master_port", str(port)]
        if behind:
            command = ["-m", "torch.distributed.run", *words, *RUN, str(PROGRAM)]
        else:
            command = [*RUN, "torchrun", *words, str(PROGRAM)]
        agents.append(started(*command, at=tmp_path, name=f"machine{machine}"))
    (first, said), (second, silent) = map(ended, agents)
    assert (first, second) == (0, 0), said + silent
    told_as_ranks(said)
    assert "books" not in silent
    assert list(tmp_path.glob("machine*/gradledger-*")) == []
