"""torchrun, and the ranks that it starts, in forks of one process that has loaded torch.

Python gets this text with -c, so that it belongs to no file and is no part of an audited program.
Each line of stdin is a launch; to stdout go its process, and how that ended.

torchrun itself is the real one. Only where it would start a Python for a rank it asks for a fork,
of a process without threads: those of torchrun's store would be missing in a fork of its own.
"""

import atexit
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import torch
import torch._dynamo
import torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler as starting
import torch.distributed.fsdp
from torch.distributed import run as torchrun

from gradledger.cli import run
from gradledger.report import rendering
from gradledger.runtime import audit
from gradledger.runtime.launch import run_program as launching
from gradledger.runtime.processes import rank_verdict as ranks

_loaded = audit, launching, ranks, rendering, run, torch.distributed.fsdp

leave = os._exit  # an audit puts its own there, and this is not its program's


class Rank:
    """As much of a `subprocess.Popen` as torchrun uses; the process is a child of `forks`."""

    forks: socket.socket

    def __init__(
        self, args: Sequence[str], env: Mapping[str, str], start_new_session: bool, **kept: None
    ) -> None:
        assert start_new_session
        assert not any(kept.values()), "a rank writes to where torchrun does"
        python, unbuffered, *words = args
        assert (python, unbuffered) == (sys.executable, "-u")
        self.pid: int = self._ask([words, dict(env)])
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            self.returncode = self._ask(self.pid)
        return self.returncode

    def wait(self, timeout: float) -> int:
        until = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("a rank", timeout)
            time.sleep(0.01)
        assert self.returncode is not None
        return self.returncode

    def _ask(self, question: object) -> Any:
        with self.forks.makefile("rw") as line:
            print(json.dumps(question), file=line, flush=True)
            return json.loads(line.readline())


def serve_ranks(asked: socket.socket) -> None:
    """Fork a rank for each command, tell of each number how it ended. Only ranks come back."""
    with asked.makefile("rw") as lines:
        for question in lines:
            match json.loads(question):
                case int(pid):
                    ended, status = os.waitpid(pid, os.WNOHANG)
                    answer = os.waitstatus_to_exitcode(status) if ended else None
                case words, environment:
                    leads, led = os.pipe()
                    answer = os.fork()
                    if not answer:
                        os.setsid()  # torchrun kills by group: it hears of this one when it leads
                        os.close(led)
                        os.close(leads)
                        become(words, environment)
                        return
                    os.close(led)
                    os.read(leads, 1)
                    os.close(leads)
            print(json.dumps(answer), file=lines, flush=True)
    leave(0)


def become(words: list[str], environment: dict[str, str]) -> None:
    """Set up what `python words…` would have found."""
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    sys.argv[:] = words
    sys.modules["__main__"] = ModuleType("__main__")
    vars(sys.modules["__main__"])["__builtins__"] = __builtins__


def launch(words: list[str]) -> None:
    """Be torchrun, or, where a rank comes out of it, that rank."""
    Rank.forks, asked = socket.socketpair()
    forks = os.fork()
    if forks:
        asked.close()
        starting.Popen = Rank  # type: ignore[assignment,attr-defined]
        try:
            torchrun.main(words)
        finally:
            Rank.forks.close()
            os.waitpid(forks, 0)
    else:
        Rank.forks.close()
        serve_ranks(asked)
        asked.close()
        run_module()


def run_module() -> None:
    """What `python -m module …` does with its words."""
    flag, name, *rest = sys.argv
    assert flag == "-m"
    sys.argv[:] = ["-m", *rest]
    sys.path[0] = os.getcwd()
    runpy._run_module_as_main(name)  # type: ignore[attr-defined]


def end_as_python_does(status: int) -> None:
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    leave(status)


torch.set_num_threads(1)
for line in sys.stdin:
    mine = json.loads(line)
    child = os.fork()
    if not child:
        break
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()

# Only torchruns and their ranks come here.
for descriptor, path in enumerate((os.devnull, mine["stdout"], mine["stderr"])):
    os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT if descriptor else os.O_RDONLY), descriptor)
os.chdir(mine["folder"])
os.environ.clear()
os.environ.update(mine["environment"])
status = 0
try:
    launch(mine["words"])
except SystemExit as stop:
    status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
except BaseException as error:
    status = 1
    sys.excepthook(type(error), error, error.__traceback__)
end_as_python_does(status)
