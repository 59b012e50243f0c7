"""Runs example programs in a separate process.

One process runs several, one after another: loading torch takes longer than any of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from types import TracebackType

from gradledger.rules.programs import Program

_END = "\x1e"  # ASCII's record separator

# The current directory leaves sys.path, as it is not on it when Python runs a file.
_DRIVER = f"""\
import sys
del sys.path[0]
import runpy
for path in sys.argv[1:]:
    try:
        runpy.run_path(path, run_name="__main__")
    except Exception as error:
        print(f"{{type(error).__name__}}: {{error}}")
    print({_END!r}, flush=True)
"""


class Live:
    """Starts to run the programs at once; `next_output` waits for the next one to end."""

    def __init__(self, programs: Iterable[Program]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _DRIVER, *(str(program.path) for program in programs)],
            # One thread: for networks of this size, more threads are slower.
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
        )

    def next_output(self) -> list[str]:
        """The output of the next program, and its error if it raised one."""
        assert self._process.stdout is not None
        lines: list[str] = []
        for line in self._process.stdout:
            if line.rstrip("\n") == _END:
                return lines
            lines.append(line.rstrip("\n"))
        return [*lines, f"(Python ended with status {self._process.wait()})"]

    def __enter__(self) -> Live:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()
