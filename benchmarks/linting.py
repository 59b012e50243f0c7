"""What tools that only read say of some files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import DSLINTER, RUFF, TORCHFIX, Peer

PATIENCE = 1800
GRADLEDGER = [sys.executable, "-m", "gradledger", "check", "--no-cache", "--exit-zero"]
_LINE = re.compile(r"^(?P<path>.+?):(?P<line>\d+):\d+: (?P<rule>\w+) ", re.MULTILINE)


@dataclass(frozen=True, order=True)
class Finding:
    """A place and the rule that it breaks. In a notebook, `cell` is the number of the cell."""

    path: str
    line: int
    rule: str
    cell: int | None = None


@dataclass(frozen=True)
class Linter:
    """A tool, how it is called, and how its findings are read from what it prints."""

    name: str
    words: Callable[[], list[str]]
    read: Callable[[str], Iterable[Finding]]
    peer: Peer | None = None

    def why_not(self) -> str:
        return self.peer.why_not() if self.peer else ""

    def findings(self, paths: Sequence[Path | str], folder: Path) -> list[Finding]:
        """In these files, each once. Files below `folder` have paths relative to it."""
        if not paths:
            return []
        done = run([*self.words(), *map(str, paths)], folder)
        return sorted({_relative(found, folder) for found in self.read(done.stdout)})


def run(
    command: Sequence[str], folder: Path, *, caches: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """As installed: with compiled modules, whatever this shell says."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    if caches is not None:
        env["XDG_CACHE_HOME"] = str(caches)
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE
    )
    # 1 and 4 tell of findings; pylint adds 1 where a file was too much for it.
    if done.returncode not in (0, 1, 4, 5):
        raise RuntimeError(f"{command[0]} ends with {done.returncode}: {done.stderr[-500:]}")
    return done


def _relative(found: Finding, folder: Path) -> Finding:
    path = Path(folder, found.path)
    if not path.is_relative_to(folder):
        return found
    return Finding(str(path.relative_to(folder)), found.line, found.rule, found.cell)


def _by_gradledger(output: str) -> Iterable[Finding]:
    for found in json.loads(output)["findings"]:
        yield Finding(found["path"], found["line"], found["rule"], found["cell"])


def _by_pylint(output: str) -> Iterable[Finding]:
    """Of its own rule alone: that a file is not understood is no finding."""
    for found in json.loads(output or "[]"):
        if found["symbol"] == "gradient-clear-pytorch":
            yield Finding(found["path"], found["line"], found["symbol"])


def _by_ruff(output: str) -> Iterable[Finding]:
    for found in json.loads(output):
        if found["code"]:
            yield Finding(found["filename"], found["location"]["row"], found["code"])


def _by_line(output: str) -> Iterable[Finding]:
    for found in _LINE.finditer(output):
        yield Finding(found["path"], int(found["line"]), found["rule"])


LINTERS = (
    Linter("gradledger check", lambda: [*GRADLEDGER, "--format", "json"], _by_gradledger),
    Linter("TorchFix", lambda: [str(TORCHFIX.command("torchfix"))], _by_line, TORCHFIX),
    Linter(
        "dslinter",
        lambda: [
            str(DSLINTER.command("pylint")),
            *("--rcfile", os.devnull, "--load-plugins=dslinter", "--disable=all"),
            *("--enable=gradient-clear-pytorch", "--output-format=json"),
        ],
        _by_pylint,
        DSLINTER,
    ),
    Linter(
        "ruff",
        lambda: [
            str(RUFF.command("ruff")),
            *("check", "--select", "E9,F821", "--no-cache", "--isolated", "--exit-zero"),
            *("--output-format", "json"),
        ],
        _by_ruff,
        RUFF,
    ),
)
