"""Notebooks for tests: their cells, run by a real kernel, and what stands under them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

TRAIN = """\
for _ in range(4):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
MAKE = """\
import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""


def notebook(*cells: str) -> NotebookNode:
    made: NotebookNode = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    made.metadata.kernelspec = {
        "name": "python3",
        "display_name": "Python 3",
        "language": "python",
    }
    made.cells = [
        nbformat.v4.new_markdown_cell(cell[2:])  # type: ignore[no-untyped-call]
        if cell.startswith("# ")
        else nbformat.v4.new_code_cell(cell)  # type: ignore[no-untyped-call]
        for cell in cells
    ]
    return made


def written(path: Path, *cells: str) -> Path:
    nbformat.write(notebook(*cells), path)  # type: ignore[no-untyped-call]
    return path


def run(*cells: str) -> list[NotebookNode]:
    """The code cells, run in a kernel; those that fail do not stop it."""
    return [cell for cell in executed(*cells).cells if cell.cell_type == "code"]


def executed(*cells: str) -> NotebookNode:
    """The notebook, with what stands under its cells."""
    made = notebook(*cells)
    NotebookClient(
        made, timeout=300, allow_errors=True, extra_arguments=["--log-level=ERROR"]
    ).execute()
    return made


def shown(cell: NotebookNode, kind: str = "text/plain") -> str:
    """What a cell displays, all together; an error as its traceback."""
    return "\n".join(_told(output, kind) for output in cell.outputs)


def _told(output: Any, kind: str) -> str:
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":
        return "\n".join(output.traceback)
    return str(output.data.get(kind, ""))
