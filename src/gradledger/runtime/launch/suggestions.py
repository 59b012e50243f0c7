"""What to type instead, where what was named can't be run: one sentence, with the line."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from difflib import get_close_matches

_STARTS_PYTHON = re.compile(
    r"^\s*(?:exec\s+)?(?:(?P<python>python[\d.]*)\s+(?P<words>[^-\s].*|-m\s+.*)"
    r"|(?P<launcher>(?:torchrun|accelerate\s+launch|deepspeed)\s.*))$"
)
MOST = 80
"""Longer lines of a shell script are cut: they are shown as an example."""


def of_missing(path: str) -> str:
    """A file beside the one that is not there, with nearly the same name."""
    folder, name = os.path.split(path)
    if near := _nearest(name, _scripts(folder or ".")):
        return f"Did you mean `{_run(os.path.join(folder, near))}`?"
    return f"It was looked for in {os.getcwd()}."


def of_folder(path: str) -> str:
    """A script in a folder, most often the one that trains."""
    scripts = _scripts(path)
    likely = [name for name in scripts if "train" in name] or scripts
    if not likely:
        return "Name a script, as in `gradledger run train.py`."
    return f"Name a script in it, as in `{_run(os.path.join(path, likely[0]))}`."


def of_shell_script(source: bytes) -> str:
    """The Python program that a shell script starts, if one line says so."""
    whole = source.decode("utf-8", "replace").replace("\\\n", " ")
    for line in whole.splitlines():
        found = _STARTS_PYTHON.match(line)
        if found:
            words = " ".join((found["words"] or found["launcher"]).split())
            return f"Name the program that it starts, as in `{_cut(f'gradledger run {words}')}`."
    return "Name the Python script that it starts, as in `gradledger run train.py`."


def _run(path: str) -> str:
    return f"gradledger run {shlex.quote(os.path.normpath(path))}"


def _scripts(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".py"))
    except OSError:
        return []


def _nearest(name: str, there: Sequence[str]) -> str:
    return next(iter(get_close_matches(name, there, n=1, cutoff=0.6)), "")


def _cut(line: str) -> str:
    return line if len(line) <= MOST else f"{line[: MOST - 1]}…"
