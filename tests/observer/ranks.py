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
        ranks = [_start(path, rank, n, port, kept[rank]) for rank in range(n)]
        for process in ranks:
            ended.enter_context(process)
            ended.callback(process.kill)
        said = [process.communicate(timeout=timeout)[0] for process in ranks]
        if any(process.returncode for process in ranks):
            raise RuntimeError(f"not all ranks of {path} came back:\n" + "\n".join(said))
        return [_read(file) for file in kept]


def _start(path: str | Path, rank: int, world: int, port: int, kept: Path) -> subprocess.Popen[str]:
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
    return subprocess.Popen(
        [sys.executable, "-m", "tests.observer.rank", str(path), str(kept)],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _free_port() -> int:
    """A port where the ranks can meet."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def _read(kept: Path) -> Observation:
    events, error, output = pickle.loads(kept.read_bytes())
    return Observation(events, None if error is None else RuntimeError(error), output)
