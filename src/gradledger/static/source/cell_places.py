"""Cells of a notebook as places that people see.

The cell is part of the path: `nb.ipynb:cell 3`, and the line is the line in that cell.
"""

from __future__ import annotations

from gradledger.static.source.files import Source


def cell_path(path: str, number: int) -> str:
    """The path under which a cell is shown: `nb.ipynb:cell 3`. With 0, the file's own."""
    return f"{path}:cell {number}" if number else path


def file_and_cell(path: str) -> tuple[str, int]:
    """The file and the cell that a shown path means; the cell of a plain file is 0."""
    file, _, number = path.rpartition(":cell ")
    return (file, int(number)) if file.endswith(".ipynb") and number.isdecimal() else (path, 0)


def texts(source: Source) -> dict[str, str]:
    """The text of each path as it is shown: of the file, or of each cell of a notebook."""
    if not source.cells:
        return {source.path: source.text}
    lines = source.text.split("\n")
    return {
        cell_path(source.path, cell.number): "\n".join(
            [*lines[cell.start - 1 : cell.start - 1 + cell.lines], ""]
        )
        for cell in source.cells
    }
