"""`gradledger run`, and plain Python beside it, each time in a process of its own.

Most are forks of one process that has loaded torch: to load it takes longer than most programs do.
`fresh` starts a real one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

Environments = Sequence[Mapping[str, str]]
"""For each process, what is added to its environment."""

SERVER = Path(__file__).with_name("fork_server.py")
PATIENCE = 240
"""Seconds that a program may take: far more than any does, and less than for ever."""

_NOT_THE_PROGRAMS = re.compile(
    r'  File "<string>", line \d+, in \S+\n'  # the server's frames
    r"|^[A-Z]\d{4} .*\n",  # torch's log, with times and process numbers
    re.MULTILINE,
)


@dataclass(frozen=True)
class Ended:
    """How a run ended, and what there is to see of it."""

    status: int
    output: str
    errors: str
    digest: str = ""
    """Of every module's output, every step, and all variables and random states at the end."""
    verdict: Mapping[str, Any] = field(default_factory=dict)
    """The JSON of an audit."""

    @property
    def seen_by_the_program(self) -> tuple[int, str, str, str]:
        """All that an audit must not change."""
        return self.status, self.output, self.errors, self.digest

    @property
    def findings(self) -> set[str]:
        """`GL101:23`: rule and line."""
        return {f"{found['rule']}:{found['line']}" for found in self.verdict["findings"]}

    @property
    def words(self) -> str:
        """The findings as a person would want to see them when a test fails."""
        return json.dumps(self.verdict, indent=1) + self.errors


class CommandLine:
    """Starts programs, audited or plain; a context that ends all of its processes."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._folder = Path(self._open.enter_context(TemporaryDirectory()))
        self._runs = 0

    def __enter__(self) -> CommandLine:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    @cached_property
    def _server(self) -> subprocess.Popen[str]:
        server = subprocess.Popen(
            [sys.executable, "-c", SERVER.read_text(encoding="utf-8")],
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._open.enter_context(server)
        self._open.callback(server.kill)
        return server

    def audited(self, program: Path, *words: str) -> Ended:
        """`gradledger run --format json [words] program`."""
        return self.ranks(program, *words, environments=[{}])[0]

    def plain(self, program: Path) -> Ended:
        """`python program`."""
        return self.plain_ranks(program, environments=[{}])[0]

    def both(self, program: Path, *words: str) -> tuple[Ended, Ended]:
        """Audited and plain, at the same time."""
        audited, plain = self._start([self._audited(program, words, {}), self._plain(program, {})])
        return audited, plain

    def ranks(self, program: Path, *words: str, environments: Environments) -> list[Ended]:
        """The same audited program in several processes at once, with what each is told."""
        return self._start([self._audited(program, words, told) for told in environments])

    def plain_ranks(self, program: Path, *, environments: Environments) -> list[Ended]:
        """The same with plain Python."""
        return self._start([self._plain(program, told) for told in environments])

    def _audited(
        self, program: Path, words: Sequence[str], environment: Mapping[str, str]
    ) -> dict[str, Any]:
        folder = self._new_folder()
        ours = ["--format", "json", "--output", str(folder / "verdict"), *words]
        command = ["gradledger", "run", *ours, str(program)]
        return _run(folder, command, environment, audited=True)

    def _plain(self, program: Path, environment: Mapping[str, str]) -> dict[str, Any]:
        return _run(self._new_folder(), [str(program)], environment, audited=False)

    def _start(self, runs: list[dict[str, Any]]) -> list[Ended]:
        server = self._server
        assert server.stdin is not None
        assert server.stdout is not None
        print(json.dumps(runs), file=server.stdin, flush=True)
        statuses = json.loads(server.stdout.readline())
        return [
            _ended(Path(run["folder"]), status) for run, status in zip(runs, statuses, strict=True)
        ]

    def _new_folder(self) -> Path:
        self._runs += 1
        folder = self._folder / str(self._runs)
        folder.mkdir()
        return folder


def fresh(*words: str, at: Path, **environment: str) -> Ended:
    """A real process: Python with these words."""
    done = subprocess.run(
        [sys.executable, *words],
        cwd=at,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def _run(
    folder: Path, words: list[str], environment: Mapping[str, str], *, audited: bool
) -> dict[str, Any]:
    source = Path(words[-1]).read_text(encoding="utf-8")
    return {
        "folder": str(folder),
        # Hooks would be compiled into the graph, and threads have no order.
        "follows": "torch.compile" not in source and "threading" not in source,
        "words": words,
        "environment": dict(environment),
        "audited": audited,
    }


def _ended(folder: Path, status: int) -> Ended:
    def read(name: str) -> str:
        path = folder / name
        return path.read_text(encoding="utf-8") if path.exists() else ""

    errors = _NOT_THE_PROGRAMS.sub("", read("stderr"))
    verdict = json.loads(read("verdict") or "{}")
    return Ended(status, read("stdout"), errors, read("digest"), verdict)
