"""Notebooks, cell by cell: as a file for the checker, and its edits as edits of cells."""

from __future__ import annotations

import json

from lsprotocol import types
from pygls.workspace import Workspace

from gradledger.server.documents import Document, path_of
from gradledger.static.source.magics import neutralised
from gradledger.static.source.parsing import NotPython, tree

SUFFIX = ".ipynb"


class Notebooks:
    """Remembers the last text of each cell that was Python."""

    def __init__(self) -> None:
        self._good: dict[str, str] = {}

    def document(self, notebook: types.NotebookDocument, workspace: Workspace) -> Document:
        """The notebook as a file. A cell that does not parse is as it was when it last did."""
        cells = []
        for cell in notebook.cells:
            text = workspace.get_text_document(cell.document)
            is_code = cell.kind == types.NotebookCellKind.Code and text.language_id == "python"
            kind = "code" if is_code else "markdown"
            source = self._parsing(cell.document, text.source) if is_code else ""
            cells.append({"cell_type": kind, "metadata": {}, "source": source})
        data = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        path = path_of(notebook.uri)
        return Document(
            notebook.uri,
            path if path.endswith(SUFFIX) else path + SUFFIX,
            data.encode(),
            notebook.version,
            tuple(cell.document for cell in notebook.cells),
        )

    def forget(self, cells: list[str]) -> None:
        """These cells are closed."""
        for uri in cells:
            self._good.pop(uri, None)

    def _parsing(self, uri: str, text: str) -> str:
        try:
            tree("\n".join(neutralised(text.splitlines())))
        except NotPython:
            return self._good.get(uri, text)
        self._good[uri] = text
        return text


def cell_texts(data: bytes) -> list[str]:
    """The text of each cell, of a notebook that was made here."""
    return [cell["source"] for cell in json.loads(data)["cells"]]
