"""Programs on several ranks, started by torchrun."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Timer

FRESH_STORE = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
"""Each start of the ranks has a store of its own.

Otherwise torchrun gives all starts the same one. In it stand the addresses of ranks that are dead,
and gloo takes them for living: most restarts fail then, and some wait for ever.
"""

SERVER = Path(__file__).with_name("torchrun_server.py")


def torchrun(
    ranks: int,
    *module: str,
    at: Path,
    restarts: int = 0,
    seconds: int = 300,
    real: bool = False,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """`torchrun -m module…` on so many ranks of this machine, stopped after so many seconds.

    A Python that loads torch takes seconds, for torchrun and for each rank. So all of them are
    forks of one process that has loaded it, unless they are to be `real`.
    """
    words = ["--standalone", f"--nproc-per-node={ranks}", f"--max-restarts={restarts}"]
    words += ["-m", *module]
    told = os.environ | FRESH_STORE | {"OMP_NUM_THREADS": "1"} | environment
    with TemporaryDirectory() as folder:
        output, errors = Path(folder, "output"), Path(folder, "errors")
        start = _real if real else _forked
        status = start(words, at, told, output, errors, seconds)
        return subprocess.CompletedProcess(words, status, output.read_text(), errors.read_text())


def _real(
    words: list[str], at: Path, told: dict[str, str], output: Path, errors: Path, seconds: int
) -> int:
    command = [sys.executable, "-m", "torch.distributed.run", *words]
    with (
        output.open("w") as out,
        errors.open("w") as err,
        subprocess.Popen(command, cwd=at, env=told, stdout=out, stderr=err) as process,
        _bounded(process.pid, seconds),
    ):
        return process.wait()


def _forked(
    words: list[str], at: Path, told: dict[str, str], output: Path, errors: Path, seconds: int
) -> int:
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    launch = {
        "words": words,
        "folder": str(at),
        "environment": told,
        "stdout": str(output),
        "stderr": str(errors),
    }
    print(json.dumps(launch), file=server.stdin, flush=True)
    with _bounded(int(server.stdout.readline()), seconds):
        return int(server.stdout.readline())


@contextmanager
def _bounded(process: int, seconds: int) -> Iterator[None]:
    """torchrun ends its ranks when it is asked to end; a kill would leave them behind."""
    end = Timer(seconds, os.kill, (process, signal.SIGTERM))
    end.start()
    try:
        yield
    finally:
        end.cancel()
        end.join()


@cache
def _server() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER.read_text(encoding="utf-8")],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(server.communicate)  # it ends when there is nothing more to read
    return server
