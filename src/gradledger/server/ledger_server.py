"""The server's state: which documents are open, and what is shown of them."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar
from urllib.parse import unquote

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.workspace import PositionCodec

from gradledger.errors import GradledgerError
from gradledger.server.board import Board
from gradledger.server.checking import Report, check
from gradledger.server.documents import Document, bytes_of, path_of
from gradledger.server.notebooks import Notebooks
from gradledger.server.pacing import Pacing
from gradledger.static.source.files import Trouble, read_bytes

T = TypeVar("T")

_STACK = 64 << 20
"""Bytes for the thread that checks: code may be nested deeply, and some systems give 512 KB."""


class LedgerServer(LanguageServer):
    """Checks documents in a thread of its own, and publishes what is found."""

    def __init__(self, name: str, version: str) -> None:
        python = types.NotebookDocumentFilterWithCells([types.NotebookCellLanguage("python")])
        sync = types.NotebookDocumentSyncOptions([python], save=True)
        super().__init__(name, version, notebook_document_sync=sync)
        self.board = Board(self._spelled)
        self.notebooks = Notebooks()
        self.pacing = Pacing(self.refresh)
        self._thread = _checking_thread()
        self._told: set[str] = set()

    @property
    def codec(self) -> PositionCodec:
        """How the client counts letters."""
        return self.workspace.position_codec

    def tell(self, message: str) -> None:
        """Shows a message, once: the same trouble comes with each keystroke."""
        if message not in self._told:
            self._told.add(message)
            shown = types.ShowMessageParams(types.MessageType.Error, f"gradledger: {message}")
            self.window_show_message(shown)

    def owner(self, uri: str) -> str:
        """The notebook of a cell; any other document is its own."""
        notebook = self.workspace.get_notebook_document(cell_uri=uri)
        return notebook.uri if notebook is not None else uri

    def document(self, uri: str) -> Document | None:
        """What the editor shows, else what is in the file; None, and a message, without either."""
        notebook = self.workspace.get_notebook_document(notebook_uri=uri)
        if notebook is not None:
            return self.notebooks.document(notebook, self.workspace)
        if unquote(uri) in self.workspace.text_documents:
            text = self.workspace.get_text_document(uri)
            return Document(text.uri, path_of(uri), bytes_of(text.source), text.version)
        path = path_of(uri)
        data = read_bytes(path)
        if isinstance(data, Trouble):
            self.tell(f"{path} is not checked: {data.message}.")
            return None
        return Document(uri, path, data)

    def open_documents(self) -> list[Document]:
        """All Python that is open."""
        texts = self.workspace.text_documents.values()
        cells = {c.document for n in self.workspace.notebook_documents.values() for c in n.cells}
        uris = [t.uri for t in texts if t.uri not in cells and t.language_id == "python"]
        uris += [notebook.uri for notebook in self.workspace.notebook_documents.values()]
        return [document for uri in uris if (document := self.document(uri)) is not None]

    def folder(self, path: str) -> str:
        """The innermost folder of the workspace that the file is in; else its own."""
        folders = [path_of(folder.uri) for folder in self.workspace.folders.values()]
        around = [f for f in folders if path.startswith(os.path.join(f, ""))]
        return max(around, key=len, default=os.path.dirname(path))

    async def refresh(self, uri: str) -> None:
        """Checks a document, and publishes what has changed."""
        try:
            report = await self._checked(uri)
        except GradledgerError as error:
            self.tell(str(error))
        except Exception as error:
            self.tell(f"this is a bug, please report it: {type(error).__name__}: {error}")
        else:
            if report is not None:
                self.publish(*(report.document.cells or (uri,)))

    async def fresh(self, uri: str) -> Report | None:
        """The report of a document as it is now; None while its text does not parse."""
        known = self.board.reports.get(uri)
        if known is not None and known.document == self.document(uri):
            return known
        return await self._checked(uri)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Does it beside the answers to the client, one thing at a time."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _spelled(self, uri: str) -> str:
        """As the client writes it, if it has that file open: clients escape different letters."""
        text = self.workspace.text_documents.get(unquote(uri))
        return uri if text is None else text.uri

    async def _checked(self, uri: str) -> Report | None:
        """A new report, on the board; None where the text is broken, or has changed meanwhile."""
        document = self.document(uri)
        if document is None:
            return None
        others = [other for other in self.open_documents() if other.uri != uri]
        folder = self.folder(document.path)
        report = await self.in_thread(partial(check, document, others, folder=folder))
        if report is None or document != self.document(uri):
            return None
        self.board.put(report, self.codec)
        return report

    def publish(self, *always: str) -> None:
        """Shows what the board has to show now; of these documents in any case."""
        for uri, diagnostics in self.board.news(*always).items():
            params = types.PublishDiagnosticsParams(uri, diagnostics)
            self.text_document_publish_diagnostics(params)


def _checking_thread() -> ThreadPoolExecutor:
    before = threading.stack_size(_STACK)
    executor = ThreadPoolExecutor(1, thread_name_prefix="check")
    executor.submit(int).result()  # which starts it
    threading.stack_size(before)
    return executor
