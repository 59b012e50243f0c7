"""Notebooks: the code of all cells as one text, in which every line can be found again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gradledger.static.source.files import Cell
from gradledger.static.source.magics import neutralised

_LINE_END = re.compile(r"\r\n|\r|\n")


class NotANotebook(Exception):
    """The bytes are no notebook. The message says why."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


def joined(data: bytes) -> tuple[str, tuple[Cell, ...]]:
    """The code of a notebook (nbformat 3 or 4), and where each cell of it begins."""
    notebook = _loaded(data)
    lines: list[str] = []
    cells = []
    for number, code in _code_cells(notebook):
        own = neutralised(_LINE_END.split(code))
        cells.append(Cell(number, len(lines) + 1, len(own)))
        lines += own
    return "\n".join([*lines, ""]), tuple(cells)


def _loaded(data: bytes) -> dict[str, Any]:
    import json

    try:
        notebook = json.loads(data)
    except json.JSONDecodeError as error:
        raise NotANotebook(error.lineno, f"it is no notebook: no JSON, {error.msg}") from None
    except UnicodeDecodeError:
        raise NotANotebook(0, "it is no notebook: its text is not UTF-8") from None
    except RecursionError:
        raise NotANotebook(0, "it is no notebook: its JSON is nested too deeply") from None
    if not isinstance(notebook, dict) or not {"cells", "worksheets"} & notebook.keys():
        raise NotANotebook(0, "it is no notebook: it has no cells")
    return notebook


def _code_cells(notebook: dict[str, Any]) -> Iterator[tuple[int, str]]:
    """The number and the text of each cell of Python. What has an odd shape is left out."""
    if not _is_python(notebook.get("metadata")):
        return
    sheets = notebook.get("worksheets", [notebook])
    number = 0
    for sheet in _list(sheets):
        for cell in _list(sheet.get("cells") if isinstance(sheet, dict) else None):
            number += 1
            if isinstance(cell, dict) and cell.get("cell_type") == "code" and _runs_python(cell):
                code = cell.get("source", cell.get("input", ""))  # nbformat 4, nbformat 3
                yield (
                    number,
                    code
                    if isinstance(code, str)
                    else "".join(line for line in _list(code) if isinstance(line, str)),
                )


def _is_python(metadata: object) -> bool:
    """Is it a notebook for Python? Those of nbformat 3, and many by hand, do not say."""
    for part, name in (("language_info", "name"), ("kernelspec", "language")):
        told = _dict(_dict(metadata).get(part)).get(name)
        if isinstance(told, str):
            return "python" in told.lower()
    return True


def _runs_python(cell: dict[str, Any]) -> bool:
    """May a cell be of Python? Some editors, and nbformat 3, name a language for each."""
    vscode = _dict(_dict(cell.get("metadata")).get("vscode"))
    named = cell.get("language", "python"), vscode.get("languageId", "python")
    return named == ("python", "python")


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
