"""How paths are shown in reports."""

from __future__ import annotations

import os


def cell_of(path: str) -> tuple[str, int | None]:
    """The file and the number of the cell, if the path is that of a notebook cell.

    `nb.ipynb:cell 3` is how people see it; programs want the file. Of the notebook that is
    running, no file is known: all cells are of one without a name.
    """
    if path.startswith("<cell ") and path[6:-1].isdecimal():
        return "<notebook>", int(path[6:-1])
    file, _, number = path.rpartition(":cell ")
    if file.endswith(".ipynb") and number.isdecimal():
        return file, int(number)
    return path, None


def shown(path: str) -> str:
    """Relative to the working directory if the path is inside it, else unchanged."""
    return inside(path) or path


def inside(path: str, root: str | None = None) -> str | None:
    """The path relative to `root`, or to the working directory; None if it isn't inside.

    A path that isn't that of a file, such as `<stdin>`, is never inside.
    """
    root = _working_directory() if root is None else root
    if is_no_file(path) or not root:
        return None
    if not os.path.isabs(path):
        # It was relative to the working directory when it was recorded.
        path = os.path.join(_working_directory(), path)
    path, root = os.path.normpath(path), os.path.normpath(root)
    start = root if root.endswith(os.sep) else root + os.sep
    return path[len(start) :] if path.startswith(start) else None


def in_checkout(path: str, variable: str) -> str:
    """The path relative to the top of the checkout, which a variable of the CI names."""
    return (inside(path, os.environ.get(variable, "")) or shown(path)).replace(os.sep, "/")


def is_no_file(path: str) -> bool:
    """Code that came from no file: `<stdin>`, `<string>`, a cell of a notebook."""
    return not path or path.startswith("<")


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it has been deleted
        return ""
