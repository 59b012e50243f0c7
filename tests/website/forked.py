"""What a page's program prints, run in a fork of a process that has loaded torch."""

from __future__ import annotations

import os
import runpy
import shutil
import sys
import tempfile
from pathlib import Path

from tests.processes import PROCESSES
from website.directives import output
from website.layout import PROGRAMS


def is_plain(command: str) -> bool:
    """One process without words of its own, that shows no traceback: a fork's would be longer."""
    python, program, *more = command.split()
    return (
        python == "python"
        and not more
        and "multiprocessing" not in (PROGRAMS / program).read_text(encoding="utf-8")
        and "Traceback" not in output(command)
    )


def printed_by_a_fork(command: str) -> str:
    """What `website.outputs.printed_by` returns, without a Python that loads torch anew."""
    with tempfile.TemporaryDirectory() as folder:
        here = shutil.copytree(PROGRAMS, Path(folder) / "programs")
        printed = Path(folder) / "printed"
        process = PROCESSES.Process(target=_run, args=(command.split()[1], str(here), str(printed)))
        process.start()
        process.join(60)
        if process.exitcode is None:
            process.kill()
        return printed.read_text(encoding="utf-8").replace(f"{here}/", "")


def _run(program: str, here: str, printed: str) -> None:
    import torch

    torch.set_num_threads(1)
    os.chdir(here)
    os.environ |= {"COLUMNS": "88", "NO_COLOR": "1"}
    sys.argv[:] = [program]
    sys.path.insert(0, here)
    with open(printed, "wb") as file:
        for descriptor in (1, 2):
            os.dup2(file.fileno(), descriptor)
    runpy.run_path(str(Path(here) / program), run_name="__main__")
    sys.stdout.flush()
