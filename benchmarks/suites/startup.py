"""How long a command takes to start, next to Python itself and to a neighbour's command."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import compare
from benchmarks.results import Results, versions

RUFF = "ruff rule F401"
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "python -c pass, again (the noise)": [sys.executable, "-c", "pass"],
    "the package, imported": [sys.executable, "-c", "import gradledger"],
    "its rules, imported": [sys.executable, "-c", "import gradledger.rules"],
    "gradledger rules": [sys.executable, "-m", "gradledger", "rules"],
    "gradledger rule GL101": [sys.executable, "-m", "gradledger", "rule", "GL101"],
    RUFF: [str(Path(sys.executable).with_name("ruff")), "rule", "F401"],
}
ABOUT = """\
CPU time of the whole process, user and system, next to a Python that does nothing. ruff is a \
compiled program, and starts without one."""


def starting(command: list[str]) -> Callable[[], object]:
    # As installed: with compiled modules, whatever this shell says.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return lambda: subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)


def children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def results(quick: bool) -> Results:
    """CPU time of the whole process, user and system."""
    table = compare(
        "Starting a command",
        {name: starting(command) for name, command in COMMANDS.items()},
        clock=children_cpu,
        rounds=5 if quick else 21,
        peers=[RUFF],
    )
    return Results(
        "startup",
        "Starting",
        ABOUT,
        {"commands": table},
        quick,
        versions=versions(["gradledger", "rich", "ruff"]),
    )
