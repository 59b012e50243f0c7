"""How long a command takes to start, next to Python itself and to a neighbour's command."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import compare

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import gradledger": [sys.executable, "-c", "import gradledger"],
    "import gradledger.rules": [sys.executable, "-c", "import gradledger.rules"],
    "gradledger rules": [sys.executable, "-m", "gradledger", "rules"],
    "gradledger rule GL101": [sys.executable, "-m", "gradledger", "rule", "GL101"],
    "ruff rule F401": [str(Path(sys.executable).with_name("ruff")), "rule", "F401"],
}


def starting(command: list[str]) -> Callable[[], object]:
    # As installed: with compiled modules, whatever this shell says.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return lambda: subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)


def children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """CPU time of the whole process, user and system."""
    compare(
        "Starting, CPU time",
        {name: starting(command) for name, command in COMMANDS.items()},
        clock=children_cpu,
        rounds=11,
    )


if __name__ == "__main__":
    sys.exit(main())
