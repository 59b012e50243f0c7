"""Runs a program on several ranks under observation: `observe_ranks(path)`."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep

from tests.observer.observation import Observation

ROOT = Path(__file__).parents[2]


def observe_ranks(path: str | Path, n: int = 2, timeout: float = 120) -> list[Observation]:
    """What each rank of a program did, in the order of the ranks.

    The ranks find what torchrun would tell them; torchrun itself would take longer to start than
    they do to run.
    """
    with TemporaryDirectory() as folder, ExitStack() as ended:
        port = _free_port()
        kept = [Path(folder, f"{rank}.pickle") for rank in range(n)]
        said = [Path(folder, f"{rank}.txt") for rank in range(n)]
        ranks = [_start(path, rank, n, port, kept[rank], said[rank]) for rank in range(n)]
        for process in ranks:
            ended.enter_context(process)
            ended.callback(process.kill)
        if not _all_come_back(ranks, timeout):
            states = [process.poll() for process in ranks]
            words = "\n".join(file.read_text() for file in said)
            raise RuntimeError(f"not all ranks of {path} came back, {states}:\n{words}")
        return [_read(file) for file in kept]


def _all_come_back(ranks: list[subprocess.Popen[str]], timeout: float) -> bool:
    """Wait for all, but not for the others once one has failed: they would wait for it."""
    deadline = monotonic() + timeout
    while any(process.poll() is None for process in ranks):
        if any(process.poll() for process in ranks) or monotonic() > deadline:
            return False
        sleep(0.05)
    return not any(process.poll() for process in ranks)


def _start(
    path: str | Path, rank: int, world: int, port: int, kept: Path, said: Path
) -> subprocess.Popen[str]:
    places = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, places)),
        "OMP_NUM_THREADS": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(world),
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
    }
    with said.open("w") as output:
        return subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "tests.observer.rank", path, kept],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )


def _free_port() -> int:
    """A port where the ranks can meet.

    They get there seconds later, so it is none that the system would meanwhile give to somebody
    else's connection: it is below the range for those, and each process begins to look elsewhere.
    """
    for attempt in range(100):
        port = 20_000 + (os.getpid() * 7 + attempt) % 10_000
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
    raise RuntimeError("no port is free between 20000 and 29999")


def _read(kept: Path) -> Observation:
    events, error, output = pickle.loads(kept.read_bytes())
    return Observation(events, None if error is None else RuntimeError(error), output, {})
