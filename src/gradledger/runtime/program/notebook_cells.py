"""Cells of a notebook that runs in this process: the number that its reader sees beside each.

A kernel compiles each cell under a name of its own, such as `/tmp/ipykernel_12/345.py`. Nothing is
imported here: who runs cells has loaded what runs them.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Any

from gradledger.ledger.places import cell_path

_NUMBERED = re.compile(r"ipython-input-(\d+)-")
_IPYKERNEL = re.compile(r"ipykernel_\d+$")
_MARIMO = re.compile(r"__marimo__cell_(.*?)_")


class Running:
    """The notebook that `gradledger run` runs in this kernel; without it, no file is known."""

    file = ""
    cells: Sequence[int] = ()
    """For each execution, from the first on, the number of its cell among all of the file."""


def in_notebook() -> bool:
    """Whether this process runs cells, so that somebody may display a book."""
    return _shell() is not None or "marimo._runtime.context" in sys.modules


def shown_path(path: str) -> str:
    """The path under which a place in this file is told: of a cell, its number."""
    number = _in_ipython(path) or _in_marimo(path)
    if number and Running.file and number <= len(Running.cells):
        return f"{Running.file}:cell {Running.cells[number - 1]}"
    return cell_path(number) if number else path


def _in_ipython(path: str) -> int:
    """The execution count of a cell: 7 for `In [7]`. 0 where it is no cell of IPython."""
    shell = _shell()
    compiler = getattr(shell, "compile", None)
    inputs = getattr(getattr(shell, "history_manager", None), "input_hist_raw", [])
    numbers = getattr(compiler, "_filename_map", None)
    if isinstance(numbers, dict) and isinstance(number := numbers.get(path), int):
        # What a magic of a cell runs is counted as the next one.
        return min(number, len(inputs) - 1) if len(inputs) > 1 else number
    if found := _NUMBERED.search(os.path.basename(path)):
        return int(found[1])
    if compiler is None or not _IPYKERNEL.search(os.path.dirname(path)):
        return 0
    # An IPython that keeps no such table: the name is made of the cell's text.
    made = enumerate(inputs)
    return max((n for n, raw in made if compiler.get_code_name(raw, raw, n) == path), default=0)


def _shell() -> Any:
    """The IPython of this process, if there is one."""
    module = sys.modules.get("IPython.core.getipython")
    return None if module is None else module.get_ipython()


def _in_marimo(path: str) -> int:
    """Cells of marimo have no numbers: they are counted in the order of the notebook."""
    found = _MARIMO.search(os.path.basename(path))
    context = sys.modules.get("marimo._runtime.context")
    if found is None or context is None:
        return 0
    try:
        cells = list(map(str, context.get_context().graph.cells))
    except Exception:  # no notebook runs here, or a marimo that keeps its cells elsewhere
        return 0
    return cells.index(found[1]) + 1 if found[1] in cells else 0
